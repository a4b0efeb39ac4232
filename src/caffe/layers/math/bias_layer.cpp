#include "caffe/layers/bias_layer.hpp"

#include "caffe/filler.hpp"
#include "caffe/kernels/blob_arguments.hpp"
#include "caffe/kernels/math/bias.hpp"
#include "caffe/kernels/shape/copy.hpp"
#include "caffe/layers/derived.hpp"
#include "caffe/layers/shape/axis_run.hpp"

namespace caffe {

template <typename Dtype>
void BiasLayer<Dtype>::LayerSetUp(const vector<Blob<Dtype>*>& bottom,
                                  const vector<Blob<Dtype>*>& /*top*/) {
  const BiasParameter& param = this->layer_param_.bias_param();
  const string& name = this->layer_param_.name();
  const bool learned = bottom.size() == 1;
  if (!this->blobs_.empty()) {
    CHECK_EQ(this->blobs_.size(), static_cast<size_t>(learned))
        << "Layer " << name << ": Incorrect number of weight blobs.";
    LOG(INFO) << "Skipping parameter initialization";
  } else if (learned) {
    this->blobs_.emplace_back(
        new Blob<Dtype>(AxisRunShape(name, "bias", *bottom[0], param.axis(), param.num_axes())));
    shared_ptr<Filler<Dtype>>(GetFiller<Dtype>(param.filler()))->Fill(this->blobs_[0].get());
  }
  this->param_propagate_down_.resize(this->blobs_.size(), true);
}

template <typename Dtype>
void BiasLayer<Dtype>::Reshape(const vector<Blob<Dtype>*>& bottom,
                               const vector<Blob<Dtype>*>& top) {
  const Blob<Dtype>& bias = bottom.size() > 1 ? *bottom[1] : *this->blobs_[0];
  const AxisRun run = FindAxisRun(this->layer_param_.name(), "bias", *bottom[0], bias,
                                  this->layer_param_.bias_param().axis());
  outer_dim_ = run.outer;
  bias_dim_ = run.count;
  inner_dim_ = run.inner;
  top[0]->ReshapeLike(*bottom[0]);
}

template <typename Dtype>
bool BiasLayer<Dtype>::BiasGradientWanted(const vector<bool>& propagate_down) const {
  return propagate_down.size() > 1 ? propagate_down[1] : this->param_propagate_down(0);
}

template <typename Dtype>
MemoryTraits BiasLayer<Dtype>::Traits(const vector<Blob<Dtype>*>& bottom,
                                      const vector<Blob<Dtype>*>& /*top*/,
                                      const vector<bool>& propagate_down) const {
  const bool learned = bottom.size() == 1;
  const Operand bias_diff = learned ? ParamDiff(0) : BottomDiff(1);
  MemoryTraits traits;
  traits.declared = true;
  traits.inherited = IsDerived(*this);
  traits.capturable = true;
  traits.forward.reads = {BottomData(0), learned ? ParamData(0) : BottomData(1)};
  traits.forward.writes = {TopData(0)};
  traits.forward.may_alias = {{TopData(0), BottomData(0)}};
  OperandVariant backward;
  backward.reads = {TopDiff(0)};
  if (BiasGradientWanted(propagate_down)) {
    if (learned) backward.reads.push_back(bias_diff);
    backward.writes.push_back(bias_diff);
  }
  if (propagate_down[0]) {
    backward.writes.push_back(BottomDiff(0));
    backward.may_alias = {{BottomDiff(0), TopDiff(0)}};
  }
  if (!backward.writes.empty()) traits.backward.push_back(backward);
  return traits;
}

template <typename Dtype>
void BiasLayer<Dtype>::ForwardOn(const DeviceContext& context, const vector<Blob<Dtype>*>& bottom,
                                 const vector<Blob<Dtype>*>& top) {
  const Blob<Dtype>& bias = bottom.size() > 1 ? *bottom[1] : *this->blobs_[0];
  kernels::BiasForward(context, {outer_dim_, bias_dim_, inner_dim_}, Data(context, *bottom[0]),
                       Data(context, bias), MutableData(context, top[0]));
}

template <typename Dtype>
void BiasLayer<Dtype>::BackwardOn(const DeviceContext& context, const vector<Blob<Dtype>*>& top,
                                  const vector<bool>& propagate_down,
                                  const vector<Blob<Dtype>*>& bottom) {
  const bool learned = bottom.size() == 1;
  if (BiasGradientWanted(propagate_down)) {
    const kernels::Accumulator<Dtype> bias =
        learned ? kernels::AccumulatorOf(context, this->blobs_[0].get())
                : kernels::NewSum(MutableDiff(context, bottom[1]));
    kernels::BiasGradient(context, {outer_dim_, bias_dim_, inner_dim_}, Diff(context, *top[0]),
                          bias);
  }
  if (propagate_down[0]) {
    kernels::Copy(context, bottom[0]->count(), Diff(context, *top[0]),
                  MutableDiff(context, bottom[0]));
  }
}

INSTANTIATE_CLASS(BiasLayer);
REGISTER_LAYER_CLASS(Bias);
REGISTER_LAYER_AXES(Bias, [](const LayerShapes& shapes) {
  return OperandRule(shapes, shapes.param.bias_param().axis());
});

}  // namespace caffe
