#include "caffe/layers/split_layer.hpp"

#include "caffe/kernels/math/eltwise.hpp"
#include "caffe/kernels/shape/copy.hpp"
#include "caffe/layer_axes.hpp"
#include "caffe/layers/derived.hpp"

namespace caffe {

template <typename Dtype>
void SplitLayer<Dtype>::Reshape(const vector<Blob<Dtype>*>& bottom,
                                const vector<Blob<Dtype>*>& top) {
  for (Blob<Dtype>* blob : top) {
    CHECK(blob != bottom[0]) << "Layer " << this->layer_param_.name()
                             << ": Split cannot run in place.";
    blob->ReshapeLike(*bottom[0]);
  }
}

template <typename Dtype>
MemoryTraits SplitLayer<Dtype>::Traits(const vector<Blob<Dtype>*>& /*bottom*/,
                                       const vector<Blob<Dtype>*>& top,
                                       const vector<bool>& propagate_down) const {
  MemoryTraits traits;
  traits.declared = true;
  traits.inherited = IsDerived(*this);
  traits.capturable = traits.takes_blocks = traits.sliceable = true;
  OperandVariant backward;
  for (int i = 0; i < static_cast<int>(top.size()); ++i) {
    traits.data_views.push_back({i, 0});
    backward.reads.push_back(TopDiff(i));
    // The sum is written after the first two diffs have been read.
    if (i < 2) backward.may_alias.push_back({BottomDiff(0), TopDiff(i)});
  }
  backward.writes = {BottomDiff(0)};
  if (propagate_down[0]) traits.backward.push_back(backward);
  return traits;
}

template <typename Dtype>
void SplitLayer<Dtype>::ForwardOn(const DeviceContext& /*context*/,
                                  const vector<Blob<Dtype>*>& bottom,
                                  const vector<Blob<Dtype>*>& top) {
  for (Blob<Dtype>* blob : top) blob->ShareData(*bottom[0]);
}

template <typename Dtype>
void SplitLayer<Dtype>::BackwardOn(const DeviceContext& context, const vector<Blob<Dtype>*>& top,
                                   const vector<bool>& propagate_down,
                                   const vector<Blob<Dtype>*>& bottom) {
  if (!propagate_down[0]) return;
  const int n = bottom[0]->count();
  Dtype* dx = MutableDiff(context, bottom[0]);
  const Dtype* sum = Diff(context, *top[0]);
  if (top.size() == 1) kernels::Copy(context, n, sum, dx);
  for (size_t i = 1; i < top.size(); ++i) {
    kernels::WeightedSum(context, n, Dtype(1), sum, Dtype(1), Diff(context, *top[i]), dx);
    sum = dx;
  }
}

INSTANTIATE_CLASS(SplitLayer);
REGISTER_LAYER_CLASS(Split);
REGISTER_NO_LAYER_AXES(Split, "a net puts it in where several layers read a blob");

}  // namespace caffe
