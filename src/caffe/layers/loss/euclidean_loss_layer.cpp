#include "caffe/layers/euclidean_loss_layer.hpp"

#include "caffe/kernels/loss/euclidean_loss.hpp"
#include "caffe/kernels/math/eltwise.hpp"
#include "caffe/layer_axes.hpp"
#include "caffe/layers/derived.hpp"

namespace caffe {

template <typename Dtype>
void EuclideanLossLayer<Dtype>::Reshape(const vector<Blob<Dtype>*>& bottom,
                                        const vector<Blob<Dtype>*>& top) {
  LossLayer<Dtype>::Reshape(bottom, top);
  CHECK_EQ(bottom[0]->count(1), bottom[1]->count(1))
      << "Layer " << this->layer_param_.name()
      << ": Inputs must have the same dimension; their shapes are " << bottom[0]->shape_string()
      << " and " << bottom[1]->shape_string() << ".";
  if (IsDerived(*this)) diff_.ReshapeLike(*bottom[0]);
}

template <typename Dtype>
MemoryTraits EuclideanLossLayer<Dtype>::Traits(const vector<Blob<Dtype>*>& bottom,
                                               const vector<Blob<Dtype>*>& top,
                                               const vector<bool>& propagate_down) const {
  if (IsDerived(*this)) return Layer<Dtype>::Traits(bottom, top, propagate_down);
  MemoryTraits traits;
  traits.declared = true;
  traits.saved = {{"difference", int64_t{bottom[0]->count()} * int64_t{sizeof(Dtype)}}};
  traits.forward.reads = {BottomData(0), BottomData(1)};
  traits.forward.writes = {TopData(0)};
  if (!propagate_down[0] && !propagate_down[1]) return traits;
  const auto add_variant = [&](const char* name, const vector<Operand>& sources) {
    OperandVariant variant;
    variant.name = name;
    variant.reads = sources;
    variant.reads.push_back(TopDiff(0));
    for (int i = 0; i < 2; ++i) {
      if (!propagate_down[i]) continue;
      variant.writes.push_back(BottomDiff(i));
      for (const Operand& source : sources) variant.may_alias.emplace_back(BottomDiff(i), source);
    }
    traits.backward.push_back(variant);
  };
  add_variant("bottoms", {BottomData(0), BottomData(1)});
  add_variant("difference", {Saved(0)});
  return traits;
}

template <typename Dtype>
void EuclideanLossLayer<Dtype>::ForwardOn(const DeviceContext& context,
                                          const vector<Blob<Dtype>*>& bottom,
                                          const vector<Blob<Dtype>*>& top) {
  const int n = bottom[0]->count();
  const Dtype* a = Data(context, *bottom[0]);
  const Dtype* b = Data(context, *bottom[1]);
  kernels::EuclideanLossForward(context, n, bottom[0]->shape(0), a, b,
                                MutableData(context, top[0]));
  Dtype* const difference =
      IsDerived(*this) ? MutableData(context, &diff_) : this->template SavedBytes<Dtype>(0);
  if (difference) {
    kernels::WeightedSum(context, n, Dtype(1), a, Dtype(-1), b, difference);
  }
}

template <typename Dtype>
void EuclideanLossLayer<Dtype>::BackwardOn(const DeviceContext& context,
                                           const vector<Blob<Dtype>*>& top,
                                           const vector<bool>& propagate_down,
                                           const vector<Blob<Dtype>*>& bottom) {
  if (!propagate_down[0] && !propagate_down[1]) return;
  const Dtype* const difference =
      IsDerived(*this) ? Data(context, diff_) : this->template SavedBytes<Dtype>(0);
  const Dtype* a = difference ? difference : Data(context, *bottom[0]);
  const Dtype* b = difference ? nullptr : Data(context, *bottom[1]);
  kernels::EuclideanLossBackward(context, bottom[0]->count(), bottom[0]->shape(0), a, b,
                                 Diff(context, *top[0]),
                                 propagate_down[0] ? MutableDiff(context, bottom[0]) : nullptr,
                                 propagate_down[1] ? MutableDiff(context, bottom[1]) : nullptr);
}

INSTANTIATE_CLASS(EuclideanLossLayer);
REGISTER_LAYER_CLASS(EuclideanLoss);
REGISTER_NO_LAYER_AXES(EuclideanLoss, "a loss is normalized over the whole batch");

}  // namespace caffe
