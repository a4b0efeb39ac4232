#include "caffe/layers/inner_product_layer.hpp"

#include "caffe/filler.hpp"
#include "caffe/kernels/blob_arguments.hpp"
#include "caffe/kernels/math/bias.hpp"
#include "caffe/kernels/math/gemm.hpp"
#include "caffe/layer_axes.hpp"
#include "caffe/layers/derived.hpp"
#include "caffe/util/library_settings.hpp"

namespace caffe {
namespace {

enum InnerProductParam { kInnerProductWeights, kInnerProductBias };

}  // namespace

template <typename Dtype>
void InnerProductLayer<Dtype>::LayerSetUp(const vector<Blob<Dtype>*>& bottom,
                                          const vector<Blob<Dtype>*>&) {
  const InnerProductParameter& param = this->layer_param_.inner_product_param();
  const string& name = this->layer_param_.name();
  N_ = static_cast<int>(param.num_output());
  CHECK_GT(N_, 0) << "Layer " << name << ": num_output must be 1 to 2147483647.";
  bias_term_ = param.bias_term();
  transpose_ = param.transpose();
  K_ = bottom[0]->count(bottom[0]->CanonicalAxisIndex(param.axis()));
  const vector<int> weight_shape = transpose_ ? vector<int>{K_, N_} : vector<int>{N_, K_};
  const vector<int> bias_shape(bias_term_, N_);
  if (!this->blobs_.empty()) {
    CHECK_EQ(1 + bias_term_, static_cast<int>(this->blobs_.size()))
        << "Layer " << name << ": Incorrect number of weight blobs.";
    CHECK_EQ(this->blobs_[kInnerProductWeights]->count(), Blob<Dtype>(weight_shape).count())
        << "Layer " << name << ": its weights have shape "
        << this->blobs_[kInnerProductWeights]->shape_string() << ".";
    if (bias_term_) {
      CHECK_EQ(this->blobs_[kInnerProductBias]->count(), N_)
          << "Layer " << name << ": its bias has shape "
          << this->blobs_[kInnerProductBias]->shape_string() << ".";
    }
    LOG(INFO) << "Skipping parameter initialization";
  } else {
    this->blobs_.emplace_back(new Blob<Dtype>(weight_shape));
    shared_ptr<Filler<Dtype>>(GetFiller<Dtype>(param.weight_filler()))
        ->Fill(this->blobs_[kInnerProductWeights].get());
    if (bias_term_) {
      this->blobs_.emplace_back(new Blob<Dtype>(bias_shape));
      shared_ptr<Filler<Dtype>>(GetFiller<Dtype>(param.bias_filler()))
          ->Fill(this->blobs_[kInnerProductBias].get());
    }
  }
  this->param_propagate_down_.resize(this->blobs_.size(), true);
}

template <typename Dtype>
void InnerProductLayer<Dtype>::Reshape(const vector<Blob<Dtype>*>& bottom,
                                       const vector<Blob<Dtype>*>& top) {
  const int axis = bottom[0]->CanonicalAxisIndex(this->layer_param_.inner_product_param().axis());
  CHECK_EQ(K_, bottom[0]->count(axis))
      << "Layer " << this->layer_param_.name()
      << ": Input size incompatible with inner product parameters.";
  M_ = bottom[0]->count(0, axis);
  vector<int> top_shape(bottom[0]->shape().begin(), bottom[0]->shape().begin() + axis);
  top_shape.push_back(N_);
  top[0]->Reshape(top_shape);
}

template <typename Dtype>
MemoryTraits InnerProductLayer<Dtype>::Traits(const vector<Blob<Dtype>*>& bottom,
                                              const vector<Blob<Dtype>*>&,
                                              const vector<bool>& propagate_down) const {
  const bool weights = this->param_propagate_down(kInnerProductWeights);
  const bool bias = bias_term_ && this->param_propagate_down(kInnerProductBias);
  const double flops = 2.0 * M_ * N_ * K_;
  MemoryTraits traits;
  traits.declared = true;
  traits.inherited = IsDerived(*this);
  traits.capturable = true;
  traits.sliceable = M_ > 0 && M_ % bottom[0]->shape(0) == 0;
  traits.exact_items = 0;  // gradients of weights are sums within one product of matrices
  traits.forward.name = "product";
  traits.forward.reads = {BottomData(0), ParamData(kInnerProductWeights)};
  if (bias_term_) traits.forward.reads.push_back(ParamData(kInnerProductBias));
  traits.forward.writes = {TopData(0)};
  traits.forward.flops = flops;
  OperandVariant backward;
  traits.forward.tf32 = backward.tf32 = RoundsToTf32<Dtype>(Tf32::kAll);
  backward.name = string("x");
  backward.flops = flops * (weights + propagate_down[0]);
  if (weights || bias || propagate_down[0]) backward.reads.push_back(TopDiff(0));
  if (weights) {
    backward.reads.push_back(BottomData(0));
    backward.reads.push_back(ParamDiff(kInnerProductWeights));
    backward.writes.push_back(ParamDiff(kInnerProductWeights));
  }
  if (bias) {
    backward.reads.push_back(ParamDiff(kInnerProductBias));
    backward.writes.push_back(ParamDiff(kInnerProductBias));
  }
  if (propagate_down[0]) {
    backward.reads.push_back(ParamData(kInnerProductWeights));
    backward.writes.push_back(BottomDiff(0));
    // The weight gradient is computed first, so the bottom is not read any more when its gradient
    // is written.
    if (weights) backward.may_alias.emplace_back(BottomDiff(0), BottomData(0));
  }
  traits.backward.push_back(backward);
  return traits;
}

template <typename Dtype>
void InnerProductLayer<Dtype>::ForwardOn(const DeviceContext& context,
                                         const vector<Blob<Dtype>*>& bottom,
                                         const vector<Blob<Dtype>*>& top) {
  using kernels::Transpose;
  Dtype* y = MutableData(context, top[0]);
  kernels::Gemm(context, Transpose::kNo, transpose_ ? Transpose::kNo : Transpose::kYes, M_, N_, K_,
                Dtype(1), Data(context, *bottom[0]),
                Data(context, *this->blobs_[kInnerProductWeights]), Dtype(0), y);
  if (bias_term_)
    kernels::BiasForward(context, {M_, N_, 1}, y, Data(context, *this->blobs_[kInnerProductBias]),
                         y);
}

template <typename Dtype>
void InnerProductLayer<Dtype>::BackwardOn(const DeviceContext& context,
                                          const vector<Blob<Dtype>*>& top,
                                          const vector<bool>& propagate_down,
                                          const vector<Blob<Dtype>*>& bottom) {
  using kernels::Transpose;
  if (this->param_propagate_down(kInnerProductWeights)) {
    const Dtype* x = Data(context, *bottom[0]);
    const Dtype* dy = Diff(context, *top[0]);
    const auto dw = kernels::AccumulatorOf(context, this->blobs_[kInnerProductWeights].get());
    kernels::Gemm(context, Transpose::kYes, Transpose::kNo, transpose_ ? K_ : N_,
                  transpose_ ? N_ : K_, M_, Dtype(1), transpose_ ? x : dy, transpose_ ? dy : x,
                  Dtype(dw.add), dw.sum);
  }
  if (bias_term_ && this->param_propagate_down(kInnerProductBias)) {
    kernels::BiasGradient(context, {M_, N_, 1}, Diff(context, *top[0]),
                          kernels::AccumulatorOf(context, this->blobs_[kInnerProductBias].get()));
  }
  if (propagate_down[0]) {
    kernels::Gemm(context, Transpose::kNo, transpose_ ? Transpose::kYes : Transpose::kNo, M_, K_,
                  N_, Dtype(1), Diff(context, *top[0]),
                  Data(context, *this->blobs_[kInnerProductWeights]), Dtype(0),
                  MutableDiff(context, bottom[0]));
  }
}

static LayerRule InnerProductRule(const LayerShapes& shapes) {
  const InnerProductParameter& param = shapes.param.inner_product_param();
  const auto axes = static_cast<int>(shapes.bottom[0].size());
  const int axis = param.axis() < 0 ? param.axis() + axes : param.axis();
  const int weight_out = param.transpose() ? 1 : 0;
  LayerRule rule;
  for (int d = 0; d < axis; ++d)
    rule.axes.push_back(AxisOf(d == 0 ? "item" : "dim " + std::to_string(d), shapes, d));
  LayerAxis out;
  out.name = "out";
  out.extent = param.num_output();
  out.inputs = {-1};
  out.outputs = {axis};
  out.params = {weight_out, 0};
  out.params.resize(shapes.params.size());
  out.narrow = [](LayerParameter* layer, int parts) {
    InnerProductParameter* const narrow = layer->mutable_inner_product_param();
    narrow->set_num_output(narrow->num_output() / static_cast<uint32_t>(parts));
  };
  rule.axes.push_back(out);
  LayerAxis in;
  in.name = "in";
  in.extent = shapes.bottom[0][axis];
  in.inputs = {axis};
  in.outputs = {-1};
  in.params = {1 - weight_out, -1};
  in.params.resize(shapes.params.size());
  if (param.bias_term()) {
    in.narrow = [](LayerParameter* layer, int) {
      layer->mutable_inner_product_param()->set_bias_term(false);
    };
    in.on_sum.set_type("Bias");
    in.on_sum.mutable_bias_param()->set_axis(axis);
    *in.on_sum.mutable_bias_param()->mutable_filler() = param.bias_filler();
  }
  rule.axes.push_back(in);
  return rule;
}

INSTANTIATE_CLASS(InnerProductLayer);
REGISTER_LAYER_CLASS(InnerProduct);
REGISTER_LAYER_AXES(InnerProduct, InnerProductRule);

}  // namespace caffe
