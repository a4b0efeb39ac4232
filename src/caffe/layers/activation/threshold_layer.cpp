#include "caffe/layers/threshold_layer.hpp"

#include "caffe/kernels/activation/threshold.hpp"
#include "caffe/layer_axes.hpp"
#include "caffe/layers/derived.hpp"

namespace caffe {

template <typename Dtype>
void ThresholdLayer<Dtype>::LayerSetUp(const vector<Blob<Dtype>*>& bottom,
                                       const vector<Blob<Dtype>*>& top) {
  NeuronLayer<Dtype>::LayerSetUp(bottom, top);
  threshold_ = this->layer_param_.threshold_param().threshold();
}

template <typename Dtype>
MemoryTraits ThresholdLayer<Dtype>::Traits(const vector<Blob<Dtype>*>& /*bottom*/,
                                           const vector<Blob<Dtype>*>& /*top*/,
                                           const vector<bool>& propagate_down) const {
  MemoryTraits traits;
  traits.declared = true;
  traits.inherited = IsDerived(*this);
  traits.forward.reads = {BottomData(0)};
  traits.forward.writes = {TopData(0)};
  traits.forward.may_alias = {{TopData(0), BottomData(0)}};
  if (!propagate_down[0]) return traits;
  // Declares a backward, so that a plan runs it and it can report that there is no gradient.
  OperandVariant none;
  none.name = "none";
  none.reads = {TopDiff(0)};
  none.writes = {BottomDiff(0)};
  traits.backward = {none};
  return traits;
}

template <typename Dtype>
void ThresholdLayer<Dtype>::ForwardOn(const DeviceContext& context,
                                      const vector<Blob<Dtype>*>& bottom,
                                      const vector<Blob<Dtype>*>& top) {
  kernels::ThresholdForward(context, bottom[0]->count(), threshold_, Data(context, *bottom[0]),
                            MutableData(context, top[0]));
}

template <typename Dtype>
void ThresholdLayer<Dtype>::BackwardOn(const DeviceContext& /*context*/,
                                       const vector<Blob<Dtype>*>& /*top*/,
                                       const vector<bool>& propagate_down,
                                       const vector<Blob<Dtype>*>& /*bottom*/) {
  if (!propagate_down[0]) return;
  LOG(FATAL) << "Layer " << this->layer_param_.name() << " (" << this->type()
             << ") has no gradient: no layer below it may learn, unless this one has "
                "propagate_down: false.";
}

INSTANTIATE_CLASS(ThresholdLayer);
REGISTER_LAYER_CLASS(Threshold);
REGISTER_LAYER_AXES(Threshold, EveryDimension);

}  // namespace caffe
