#include "caffe/layers/scale_layer.hpp"

#include "caffe/filler.hpp"
#include "caffe/kernels/blob_arguments.hpp"
#include "caffe/kernels/math/scale.hpp"
#include "caffe/layers/bn_layer.hpp"
#include "caffe/layers/derived.hpp"
#include "caffe/layers/shape/axis_run.hpp"

namespace caffe {
namespace {

enum ScaleSavedIndex { kScaleBottom };
enum ScaleVariant { kScaleFromBottom, kScaleFromSaved };

}  // namespace

template <typename Dtype>
void ScaleLayer<Dtype>::LayerSetUp(const vector<Blob<Dtype>*>& bottom,
                                   const vector<Blob<Dtype>*>&) {
  const ScaleParameter& param = this->layer_param_.scale_param();
  const string& name = this->layer_param_.name();
  const bool learned = bottom.size() == 1;
  bias_term_ = param.bias_term();
  bias_param_id_ = learned ? 1 : 0;
  const size_t parameters = learned + bias_term_;
  const vector<int> shape =
      learned ? AxisRunShape(name, "scale", *bottom[0], param.axis(), param.num_axes())
              : bottom[1]->shape();
  if (!this->blobs_.empty()) {
    CHECK_EQ(this->blobs_.size(), parameters)
        << "Layer " << name << ": Incorrect number of weight blobs.";
    for (const auto& blob : this->blobs_) {
      CHECK_EQ(blob->count(), Blob<Dtype>(shape).count())
          << "Layer " << name << ": a parameter has shape " << blob->shape_string() << ".";
    }
    LOG(INFO) << "Skipping parameter initialization";
  } else {
    if (learned) {
      FillerParameter filler = param.filler();
      if (!param.has_filler()) filler.set_value(1);
      this->blobs_.emplace_back(new Blob<Dtype>(shape));
      shared_ptr<Filler<Dtype>>(GetFiller<Dtype>(filler))->Fill(this->blobs_.back().get());
    }
    if (bias_term_) {
      this->blobs_.emplace_back(new Blob<Dtype>(shape));
      shared_ptr<Filler<Dtype>>(GetFiller<Dtype>(param.bias_filler()))
          ->Fill(this->blobs_.back().get());
    }
  }
  this->param_propagate_down_.resize(this->blobs_.size(), true);
}

template <typename Dtype>
void ScaleLayer<Dtype>::Reshape(const vector<Blob<Dtype>*>& bottom,
                                const vector<Blob<Dtype>*>& top) {
  const Blob<Dtype>& scale = bottom.size() > 1 ? *bottom[1] : *this->blobs_[0];
  const AxisRun run = FindAxisRun(this->layer_param_.name(), "scale", *bottom[0], scale,
                                  this->layer_param_.scale_param().axis());
  outer_dim_ = run.outer;
  scale_dim_ = run.count;
  inner_dim_ = run.inner;
  top[0]->ReshapeLike(*bottom[0]);
}

template <typename Dtype>
bool ScaleLayer<Dtype>::ScaleGradientWanted(const vector<bool>& propagate_down) const {
  return propagate_down.size() > 1 ? propagate_down[1] : this->param_propagate_down(0);
}

template <typename Dtype>
bool ScaleLayer<Dtype>::ScalesChannels(const Blob<Dtype>& bottom) const {
  const bool learned = bias_param_id_ == 1;
  return learned && HasOneValuePerChannel(bottom, outer_dim_, scale_dim_);
}

template <typename Dtype>
MemoryTraits ScaleLayer<Dtype>::Traits(const vector<Blob<Dtype>*>& bottom,
                                       const vector<Blob<Dtype>*>&,
                                       const vector<bool>& propagate_down) const {
  const bool learned = bottom.size() == 1;
  const Operand scale_data = learned ? ParamData(0) : BottomData(1);
  const Operand scale_diff = learned ? ParamDiff(0) : BottomDiff(1);
  const bool scale_gradient = ScaleGradientWanted(propagate_down);
  const bool bias_gradient = bias_term_ && this->param_propagate_down(bias_param_id_);
  MemoryTraits traits;
  traits.declared = true;
  traits.inherited = IsDerivedFrom<ScaleLayer, FoldedBNLayer>(*this);
  traits.capturable = true;
  traits.saved = {{"x", static_cast<int64_t>(bottom[0]->count() * sizeof(Dtype))}};
  traits.forward.name = "scale";
  traits.forward.reads = {BottomData(0), scale_data};
  if (bias_term_) traits.forward.reads.push_back(ParamData(bias_param_id_));
  traits.forward.writes = {TopData(0)};
  traits.forward.may_alias = {{TopData(0), BottomData(0)}};
  traits.forward.flops = (1.0 + bias_term_) * bottom[0]->count();
  OperandVariant backward;
  backward.flops = (2.0 * scale_gradient + bias_gradient + propagate_down[0]) * bottom[0]->count();
  if (scale_gradient || bias_gradient || propagate_down[0]) backward.reads.push_back(TopDiff(0));
  if (scale_gradient) {
    if (learned) backward.reads.push_back(scale_diff);
    backward.writes.push_back(scale_diff);
  }
  if (bias_gradient) {
    backward.reads.push_back(ParamDiff(bias_param_id_));
    backward.writes.push_back(ParamDiff(bias_param_id_));
  }
  if (propagate_down[0]) {
    backward.reads.push_back(scale_data);
    backward.writes.push_back(BottomDiff(0));
    backward.may_alias.emplace_back(BottomDiff(0), TopDiff(0));
  }
  for (const Operand& source : {BottomData(0), Saved(kScaleBottom)}) {
    OperandVariant variant = backward;
    variant.from_copy = source.kind == Operand::kSaved;
    variant.name = variant.from_copy ? "saved_x" : "x";
    if (scale_gradient) variant.reads.push_back(source);
    // The gradients of scale and bias are computed first.
    if (scale_gradient && propagate_down[0]) variant.may_alias.emplace_back(BottomDiff(0), source);
    traits.backward.push_back(variant);
  }
  return traits;
}

template <typename Dtype>
void ScaleLayer<Dtype>::ForwardOn(const DeviceContext& context, const vector<Blob<Dtype>*>& bottom,
                                  const vector<Blob<Dtype>*>& top) {
  const Blob<Dtype>& scale = bottom.size() > 1 ? *bottom[1] : *this->blobs_[0];
  const Dtype* bias = bias_term_ ? Data(context, *this->blobs_[bias_param_id_]) : nullptr;
  kernels::ScaleForward(context, outer_dim_, scale_dim_, inner_dim_, Data(context, *bottom[0]),
                        Data(context, scale), bias, MutableData(context, top[0]),
                        this->template SavedBytes<Dtype>(kScaleBottom));
}

template <typename Dtype>
void ScaleLayer<Dtype>::BackwardOn(const DeviceContext& context, const vector<Blob<Dtype>*>& top,
                                   const vector<bool>& propagate_down,
                                   const vector<Blob<Dtype>*>& bottom) {
  const bool learned = bottom.size() == 1;
  Blob<Dtype>* const scale = learned ? this->blobs_[0].get() : bottom[1];
  const Dtype *x = nullptr, *factor = nullptr;
  kernels::Accumulator<Dtype> dscale, dbias;
  Dtype* dx = nullptr;
  if (ScaleGradientWanted(propagate_down)) {
    x = this->variant() == kScaleFromSaved ? this->template SavedBytes<Dtype>(kScaleBottom)
                                           : Data(context, *bottom[0]);
    dscale = learned ? kernels::AccumulatorOf(context, scale)
                     : kernels::NewSum(MutableDiff(context, scale));
  }
  if (bias_term_ && this->param_propagate_down(bias_param_id_))
    dbias = kernels::AccumulatorOf(context, this->blobs_[bias_param_id_].get());
  if (propagate_down[0]) {
    factor = Data(context, *scale);
    dx = MutableDiff(context, bottom[0]);
  }
  kernels::ScaleBackward(context, outer_dim_, scale_dim_, inner_dim_, Diff(context, *top[0]), x,
                         factor, dscale, dbias, dx);
}

INSTANTIATE_CLASS(ScaleLayer);
REGISTER_LAYER_CLASS(Scale);
REGISTER_LAYER_AXES(Scale, [](const LayerShapes& shapes) {
  return OperandRule(shapes, shapes.param.scale_param().axis());
});

}  // namespace caffe
