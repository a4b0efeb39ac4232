#include "caffe/layers/embed_layer.hpp"

#include "caffe/filler.hpp"
#include "caffe/kernels/blob_arguments.hpp"
#include "caffe/kernels/math/bias.hpp"
#include "caffe/kernels/shape/rows.hpp"
#include "caffe/layer_axes.hpp"
#include "caffe/layers/derived.hpp"
#include "caffe/layers/shape/row_numbers.hpp"

namespace caffe {
namespace {

enum EmbedParam { kEmbedTable, kEmbedBias };

}  // namespace

template <typename Dtype>
void EmbedLayer<Dtype>::LayerSetUp(const vector<Blob<Dtype>*>& /*bottom*/,
                                   const vector<Blob<Dtype>*>& /*top*/) {
  const EmbedParameter& param = this->layer_param_.embed_param();
  const string& name = this->layer_param_.name();
  N_ = static_cast<int>(param.num_output());
  CHECK_GT(N_, 0) << "Layer " << name << ": num_output must be 1 to 2147483647.";
  K_ = static_cast<int>(param.input_dim());
  CHECK_GT(K_, 0) << "Layer " << name << ": input_dim must be 1 to 2147483647.";
  bias_term_ = param.bias_term();
  if (!this->blobs_.empty()) {
    CHECK_EQ(1 + bias_term_, static_cast<int>(this->blobs_.size()))
        << "Layer " << name << ": Incorrect number of weight blobs.";
    CHECK_EQ(int64_t{this->blobs_[kEmbedTable]->count()}, int64_t{K_} * N_)
        << "Layer " << name << ": its table has shape " << this->blobs_[kEmbedTable]->shape_string()
        << ".";
    CHECK(!bias_term_ || this->blobs_[kEmbedBias]->count() == N_)
        << "Layer " << name << ": its bias has shape " << this->blobs_[kEmbedBias]->shape_string()
        << ".";
    LOG(INFO) << "Skipping parameter initialization";
  } else {
    this->blobs_.emplace_back(new Blob<Dtype>({K_, N_}));
    shared_ptr<Filler<Dtype>>(GetFiller<Dtype>(param.weight_filler()))
        ->Fill(this->blobs_[kEmbedTable].get());
    if (bias_term_) {
      this->blobs_.emplace_back(new Blob<Dtype>({N_}));
      shared_ptr<Filler<Dtype>>(GetFiller<Dtype>(param.bias_filler()))
          ->Fill(this->blobs_[kEmbedBias].get());
    }
  }
  this->param_propagate_down_.resize(this->blobs_.size(), true);
}

template <typename Dtype>
void EmbedLayer<Dtype>::Reshape(const vector<Blob<Dtype>*>& bottom,
                                const vector<Blob<Dtype>*>& top) {
  M_ = bottom[0]->count();
  vector<int> shape = bottom[0]->shape();
  shape.push_back(N_);
  top[0]->Reshape(shape);
}

template <typename Dtype>
MemoryTraits EmbedLayer<Dtype>::Traits(const vector<Blob<Dtype>*>& /*bottom*/,
                                       const vector<Blob<Dtype>*>& /*top*/,
                                       const vector<bool>& /*propagate_down*/) const {
  MemoryTraits traits;
  traits.declared = true;
  traits.inherited = IsDerived(*this);
  traits.forward.reads = {BottomData(0), ParamData(kEmbedTable)};
  if (bias_term_) traits.forward.reads.push_back(ParamData(kEmbedBias));
  traits.forward.writes = {TopData(0)};
  traits.forward.flops = double{1} * M_ * N_;
  OperandVariant backward;
  backward.flops = traits.forward.flops;
  if (this->param_propagate_down(kEmbedTable)) {
    backward.reads = {BottomData(0), ParamDiff(kEmbedTable)};
    backward.writes = {ParamDiff(kEmbedTable)};
  }
  if (bias_term_ && this->param_propagate_down(kEmbedBias)) {
    backward.reads.push_back(ParamDiff(kEmbedBias));
    backward.writes.push_back(ParamDiff(kEmbedBias));
  }
  if (backward.writes.empty()) return traits;
  backward.reads.push_back(TopDiff(0));
  traits.backward.push_back(backward);
  return traits;
}

template <typename Dtype>
void EmbedLayer<Dtype>::ForwardOn(const DeviceContext& context, const vector<Blob<Dtype>*>& bottom,
                                  const vector<Blob<Dtype>*>& top) {
  if (!context.gpu) CheckRowNumbers(this->layer_param_.name(), *bottom[0], K_);
  Dtype* y = MutableData(context, top[0]);
  kernels::GatherRows(context, M_, N_, K_, Data(context, *bottom[0]),
                      Data(context, *this->blobs_[kEmbedTable]), y);
  if (bias_term_)
    kernels::BiasForward(context, {M_, N_, 1}, y, Data(context, *this->blobs_[kEmbedBias]), y);
}

template <typename Dtype>
void EmbedLayer<Dtype>::BackwardOn(const DeviceContext& context, const vector<Blob<Dtype>*>& top,
                                   const vector<bool>& propagate_down,
                                   const vector<Blob<Dtype>*>& bottom) {
  CHECK(!propagate_down[0]) << "Layer " << this->layer_param_.name()
                            << ": Can't backpropagate to EmbedLayer input.";
  if (this->param_propagate_down(kEmbedTable)) {
    kernels::AddRows(context, M_, N_, K_, Data(context, *bottom[0]), Diff(context, *top[0]),
                     MutableDiff(context, this->blobs_[kEmbedTable].get()));
  }
  if (bias_term_ && this->param_propagate_down(kEmbedBias)) {
    kernels::BiasGradient(context, {M_, N_, 1}, Diff(context, *top[0]),
                          kernels::AccumulatorOf(context, this->blobs_[kEmbedBias].get()));
  }
}

/// The axes of the input, and the columns of the table.
static LayerRule EmbedRule(const LayerShapes& shapes) {
  LayerRule rule;
  if (!shapes.bottom[0].empty()) rule.axes.push_back(ItemAxis(shapes));
  LayerAxis out;
  out.name = "out";
  out.extent = shapes.param.embed_param().num_output();
  out.inputs = {-1};
  out.outputs = {static_cast<int>(shapes.bottom[0].size())};
  out.params = {1, 0};
  out.params.resize(shapes.params.size());
  out.narrow = [](LayerParameter* layer, int parts) {
    EmbedParameter* const param = layer->mutable_embed_param();
    param->set_num_output(param->num_output() / static_cast<uint32_t>(parts));
  };
  rule.axes.push_back(out);
  return rule;
}

INSTANTIATE_CLASS(EmbedLayer);
REGISTER_LAYER_CLASS(Embed);
REGISTER_LAYER_AXES(Embed, EmbedRule);

}  // namespace caffe
