#include "caffe/layers/absolute_loss_layer.hpp"

#include "caffe/kernels/loss/absolute_loss.hpp"
#include "caffe/layers/derived.hpp"
#include "caffe/layers/l1_loss_layer.hpp"
#include "caffe/layers/smooth_l1_loss_layer.hpp"

namespace caffe {
namespace {

template <typename Dtype>
kernels::AbsoluteLoss<Dtype> LossOf(const DeviceContext& context,
                                    const vector<Blob<Dtype>*>& bottom, Dtype bend) {
  kernels::AbsoluteLoss<Dtype> loss;
  loss.n = bottom[0]->count();
  loss.samples = bottom[0]->shape(0);
  loss.bend = bend;
  loss.a = Data(context, *bottom[0]);
  loss.b = Data(context, *bottom[1]);
  if (bottom.size() > 2) loss.inner = Data(context, *bottom[2]);
  if (bottom.size() > 3) loss.outer = Data(context, *bottom[3]);
  return loss;
}

}  // namespace

template <typename Dtype>
void AbsoluteLossLayer<Dtype>::Reshape(const vector<Blob<Dtype>*>& bottom,
                                       const vector<Blob<Dtype>*>& top) {
  LossLayer<Dtype>::Reshape(bottom, top);
  for (const Blob<Dtype>* blob : bottom) {
    CHECK_EQ(blob->count(), bottom[0]->count())
        << "Layer " << this->layer_param_.name()
        << ": Inputs must have the same dimension; their shapes are " << bottom[0]->shape_string()
        << " and " << blob->shape_string() << ".";
  }
}

template <typename Dtype>
MemoryTraits AbsoluteLossLayer<Dtype>::Traits(const vector<Blob<Dtype>*>& bottom,
                                              const vector<Blob<Dtype>*>& /*top*/,
                                              const vector<bool>& propagate_down) const {
  MemoryTraits traits;
  traits.declared = true;
  traits.inherited = IsDerivedFrom<L1LossLayer, SmoothL1LossLayer>(*this);
  for (size_t i = 0; i < bottom.size(); ++i)
    traits.forward.reads.push_back(BottomData(static_cast<int>(i)));
  traits.forward.writes = {TopData(0)};
  traits.forward.flops = 5.0 * bottom[0]->count();
  OperandVariant backward;
  backward.flops = traits.forward.flops;
  backward.reads = traits.forward.reads;
  backward.reads.push_back(TopDiff(0));
  for (int i = 0; i < 2; ++i) {
    if (!propagate_down[i]) continue;
    backward.writes.push_back(BottomDiff(i));
    for (const Operand& source : traits.forward.reads)
      backward.may_alias.emplace_back(BottomDiff(i), source);
  }
  if (!backward.writes.empty()) traits.backward.push_back(backward);
  return traits;
}

template <typename Dtype>
void AbsoluteLossLayer<Dtype>::ForwardOn(const DeviceContext& context,
                                         const vector<Blob<Dtype>*>& bottom,
                                         const vector<Blob<Dtype>*>& top) {
  kernels::AbsoluteLossForward(context, LossOf(context, bottom, QuadraticRange()),
                               MutableData(context, top[0]));
}

template <typename Dtype>
void AbsoluteLossLayer<Dtype>::BackwardOn(const DeviceContext& context,
                                          const vector<Blob<Dtype>*>& top,
                                          const vector<bool>& propagate_down,
                                          const vector<Blob<Dtype>*>& bottom) {
  if (!propagate_down[0] && !propagate_down[1]) return;
  kernels::AbsoluteLossBackward(context, LossOf(context, bottom, QuadraticRange()),
                                Diff(context, *top[0]),
                                propagate_down[0] ? MutableDiff(context, bottom[0]) : nullptr,
                                propagate_down[1] ? MutableDiff(context, bottom[1]) : nullptr);
}

INSTANTIATE_CLASS(AbsoluteLossLayer);

}  // namespace caffe
