#include "caffe/layers/dropout_layer.hpp"

#include <algorithm>

#include "caffe/device_group.hpp"
#include "caffe/kernels/activation/dropout.hpp"
#include "caffe/kernels/math/power.hpp"
#include "caffe/kernels/shape/copy.hpp"
#include "caffe/layer_axes.hpp"
#include "caffe/layers/derived.hpp"
#include "caffe/util/layout_proto.hpp"
#include "caffe/util/rows.hpp"

namespace caffe {

template <typename Dtype>
void DropoutLayer<Dtype>::LayerSetUp(const vector<Blob<Dtype>*>& bottom,
                                     const vector<Blob<Dtype>*>& top) {
  NeuronLayer<Dtype>::LayerSetUp(bottom, top);
  const float ratio = Param().dropout_ratio();
  CHECK(ratio >= 0 && ratio < 1) << "Layer " << this->layer_param_.name()
                                 << ": dropout_ratio must be at least 0 and below 1, not " << ratio
                                 << ".";
  if (const layrub::Communicator* const group = DeviceGroupScope::Current()) rank_ = group->rank();
  threshold_ = ratio;
  scale_ = Param().scale_train() ? 1 / (1 - threshold_) : 1;
}

template <typename Dtype>
void DropoutLayer<Dtype>::Reshape(const vector<Blob<Dtype>*>& bottom,
                                  const vector<Blob<Dtype>*>& top) {
  NeuronLayer<Dtype>::Reshape(bottom, top);
  if (!this->layer_param_.has_layout()) return;
  const std::vector<int64_t> part = LocalDims(FromProto(this->layer_param_.layout()));
  CHECK(std::equal(part.begin(), part.end(), bottom[0]->shape().begin(), bottom[0]->shape().end()))
      << "Layer " << this->layer_param_.name() << ": its bottom has shape "
      << bottom[0]->shape_string() << ", not the one that the net was divided for.";
}

template <typename Dtype>
const DropoutParameter& DropoutLayer<Dtype>::Param() const {
  return this->layer_param_.dropout_param();
}

template <typename Dtype>
bool DropoutLayer<Dtype>::Drops() const {
  return this->phase_ == TRAIN || Param().sample_weights_test();
}

template <typename Dtype>
MemoryTraits DropoutLayer<Dtype>::Traits(const vector<Blob<Dtype>*>& /*bottom*/,
                                         const vector<Blob<Dtype>*>& /*top*/,
                                         const vector<bool>& propagate_down) const {
  MemoryTraits traits;
  traits.declared = true;
  traits.inherited = IsDerived(*this);
  traits.forward.reads = {BottomData(0)};
  traits.forward.writes = {TopData(0)};
  traits.forward.may_alias = {{TopData(0), BottomData(0)}};
  if (!propagate_down[0]) return traits;
  OperandVariant backward;
  backward.name = "derived_mask";
  backward.reads = {TopDiff(0)};
  backward.writes = {BottomDiff(0)};
  backward.may_alias = {{BottomDiff(0), TopDiff(0)}};
  traits.backward = {backward};
  return traits;
}

template <typename Dtype>
void DropoutLayer<Dtype>::Apply(const DeviceContext& context, int64_t n, const Dtype* x,
                                Dtype* y) const {
  if (Drops()) {
    kernels::DropoutMask mask = kernels::MakeDropoutMask(key_, threshold_);
    if (!this->layer_param_.has_layout()) {
      kernels::Dropout(context, n, mask, scale_, x, y);
      return;
    }
    ForEachOwnRow(FromProto(this->layer_param_.layout()), rank_,
                  [&](int64_t begin, int64_t own, int64_t count) {
                    mask.first = static_cast<uint64_t>(begin);
                    kernels::Dropout(context, count, mask, scale_, x + own, y + own);
                  });
  } else if (Param().scale_train()) {
    kernels::Copy(context, n, x, y);
  } else {
    const kernels::PowerFunction<Dtype> mean{1, 1 - threshold_, 0};
    kernels::PowerForward<Dtype>(context, n, mean, x, y, nullptr);
  }
}

template <typename Dtype>
void DropoutLayer<Dtype>::ForwardOn(const DeviceContext& context,
                                    const vector<Blob<Dtype>*>& bottom,
                                    const vector<Blob<Dtype>*>& top) {
  if (Drops() && !this->recomputing()) key_ = caffe_rng_rand();
  Apply(context, bottom[0]->count(), Data(context, *bottom[0]), MutableData(context, top[0]));
}

template <typename Dtype>
void DropoutLayer<Dtype>::BackwardOn(const DeviceContext& context, const vector<Blob<Dtype>*>& top,
                                     const vector<bool>& propagate_down,
                                     const vector<Blob<Dtype>*>& bottom) {
  if (!propagate_down[0]) return;
  Apply(context, bottom[0]->count(), Diff(context, *top[0]), MutableDiff(context, bottom[0]));
}

/// Each device computes its part of the mask of the whole blob.
static LayerRule DropoutRule(const LayerShapes& shapes) {
  LayerRule rule = EveryDimension(shapes);
  rule.tells_layout = true;
  return rule;
}

INSTANTIATE_CLASS(DropoutLayer);
REGISTER_LAYER_CLASS(Dropout);
REGISTER_LAYER_AXES(Dropout, DropoutRule);

}  // namespace caffe
