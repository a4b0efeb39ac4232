#include "caffe/layers/axis_order_layer.hpp"

#include <algorithm>

#include "caffe/kernels/shape/axis_order.hpp"
#include "caffe/layers/derived.hpp"
#include "caffe/layers/permute_layer.hpp"
#include "caffe/layers/reorg_layer.hpp"
#include "caffe/layers/shuffle_channel_layer.hpp"

namespace caffe {

template <typename Dtype>
void AxisOrderLayer<Dtype>::Reshape(const vector<Blob<Dtype>*>& bottom,
                                    const vector<Blob<Dtype>*>& top) {
  CHECK(top[0] != bottom[0]) << "Layer " << this->layer_param_.name() << ": " << this->type()
                             << " cannot run in place.";
  order_ = OrderOf(*bottom[0]);
  top[0]->Reshape(order_.top);
}

template <typename Dtype>
bool AxisOrderLayer<Dtype>::KeepsAxisOrder() const {
  return std::is_sorted(order_.order.begin(), order_.order.end());
}

template <typename Dtype>
MemoryTraits AxisOrderLayer<Dtype>::Traits(const vector<Blob<Dtype>*>& /*bottom*/,
                                           const vector<Blob<Dtype>*>& /*top*/,
                                           const vector<bool>& propagate_down) const {
  MemoryTraits traits;
  traits.declared = true;
  traits.inherited = IsDerivedFrom<PermuteLayer, ReorgLayer, ShuffleChannelLayer>(*this);
  if (KeepsAxisOrder()) {
    traits.data_views = {{0, 0}};
    if (propagate_down[0]) traits.diff_views = {{0, 0}};
    return traits;
  }
  traits.forward.reads = {BottomData(0)};
  traits.forward.writes = {TopData(0)};
  if (!propagate_down[0]) return traits;
  OperandVariant backward;
  backward.reads = {TopDiff(0)};
  backward.writes = {BottomDiff(0)};
  traits.backward.push_back(backward);
  return traits;
}

template <typename Dtype>
void AxisOrderLayer<Dtype>::ForwardOn(const DeviceContext& context,
                                      const vector<Blob<Dtype>*>& bottom,
                                      const vector<Blob<Dtype>*>& top) {
  if (KeepsAxisOrder()) {
    top[0]->ShareData(*bottom[0]);
    return;
  }
  kernels::ReorderAxes(context, kernels::AxesInOrder(order_.dims, order_.order),
                       Data(context, *bottom[0]), MutableData(context, top[0]));
}

template <typename Dtype>
void AxisOrderLayer<Dtype>::BackwardOn(const DeviceContext& context,
                                       const vector<Blob<Dtype>*>& top,
                                       const vector<bool>& propagate_down,
                                       const vector<Blob<Dtype>*>& bottom) {
  if (!propagate_down[0]) return;
  if (KeepsAxisOrder()) {
    bottom[0]->ShareDiff(*top[0]);
    return;
  }
  const int axes = static_cast<int>(order_.order.size());
  vector<int> dims(axes), back(axes);
  for (int k = 0; k < axes; ++k) {
    dims[k] = order_.dims[order_.order[k]];
    back[order_.order[k]] = k;
  }
  kernels::ReorderAxes(context, kernels::AxesInOrder(dims, back), Diff(context, *top[0]),
                       MutableDiff(context, bottom[0]));
}

INSTANTIATE_CLASS(AxisOrderLayer);

}  // namespace caffe
