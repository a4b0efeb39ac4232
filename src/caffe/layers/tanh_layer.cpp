#include "caffe/layers/tanh_layer.hpp"

#include "caffe/kernels/activation.hpp"
#include "caffe/kernels/copy.hpp"

namespace caffe {

template <typename Dtype>
MemoryTraits TanHLayer<Dtype>::Traits(const vector<Blob<Dtype>*>& bottom,
                                      const vector<Blob<Dtype>*>& /*top*/,
                                      const vector<bool>& propagate_down) const {
  MemoryTraits traits;
  traits.declared = true;
  traits.saved = {{"y", static_cast<int64_t>(bottom[0]->count() * sizeof(Dtype))}};
  traits.forward.reads = {BottomData(0)};
  traits.forward.writes = {TopData(0)};
  traits.forward.may_alias = {{TopData(0), BottomData(0)}};
  if (!propagate_down[0]) return traits;
  for (const Operand& y : {TopData(0), Saved(0)}) {
    OperandForm form;
    form.name = y.kind == Operand::kSaved ? "saved" : "y";
    form.reads = {y, TopDiff(0)};
    form.writes = {BottomDiff(0)};
    form.may_alias = {{BottomDiff(0), TopDiff(0)}, {BottomDiff(0), y}};
    traits.backward.push_back(form);
  }
  return traits;
}

template <typename Dtype>
void TanHLayer<Dtype>::ForwardOn(const DeviceContext& context, const vector<Blob<Dtype>*>& bottom,
                                 const vector<Blob<Dtype>*>& top) {
  const int n = bottom[0]->count();
  Dtype* y = MutableData(context, top[0]);
  kernels::TanhForward(context, n, Data(context, *bottom[0]), y);
  if (Dtype* saved = this->template SavedBytes<Dtype>(0)) kernels::Copy(context, n, y, saved);
}

template <typename Dtype>
void TanHLayer<Dtype>::BackwardOn(const DeviceContext& context, const vector<Blob<Dtype>*>& top,
                                  const vector<bool>& propagate_down,
                                  const vector<Blob<Dtype>*>& bottom) {
  if (!propagate_down[0]) return;
  const Dtype* saved = this->template SavedBytes<Dtype>(0);
  kernels::TanhBackward(context, bottom[0]->count(), saved ? saved : Data(context, *top[0]),
                        Diff(context, *top[0]), MutableDiff(context, bottom[0]));
}

INSTANTIATE_CLASS(TanHLayer);
REGISTER_LAYER_CLASS(TanH);

}  // namespace caffe
