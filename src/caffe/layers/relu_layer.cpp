#include "caffe/layers/relu_layer.hpp"

#include "caffe/kernels/activation.hpp"

namespace caffe {

namespace {

// Backward forms in the order of Traits. A negative slope drops the first.
enum ReLUForm { kFromY, kFromMask, kFromX };

}  // namespace

template <typename Dtype>
Dtype ReLULayer<Dtype>::Slope() const {
  return this->layer_param_.relu_param().negative_slope();
}

template <typename Dtype>
MemoryTraits ReLULayer<Dtype>::Traits(const vector<Blob<Dtype>*>& bottom,
                                      const vector<Blob<Dtype>*>& /*top*/,
                                      const vector<bool>& propagate_down) const {
  MemoryTraits traits;
  traits.declared = true;
  traits.saved = {{"mask", kernels::MaskBytes(bottom[0]->count())}};
  traits.forward.reads = {BottomData(0)};
  traits.forward.writes = {TopData(0)};
  traits.forward.may_alias = {{TopData(0), BottomData(0)}};
  if (!propagate_down[0]) return traits;
  const auto add_form = [&traits](const char* name, const Operand& source, bool same_size) {
    OperandForm form;
    form.name = name;
    form.reads = {source, TopDiff(0)};
    form.writes = {BottomDiff(0)};
    form.may_alias = {{BottomDiff(0), TopDiff(0)}};
    if (same_size) form.may_alias.push_back({BottomDiff(0), source});
    traits.backward.push_back(form);
  };
  if (!(Slope() < 0)) add_form("y", TopData(0), true);
  add_form("mask", Saved(0), false);
  add_form("x", BottomData(0), true);
  return traits;
}

template <typename Dtype>
void ReLULayer<Dtype>::ForwardOn(const DeviceContext& context, const vector<Blob<Dtype>*>& bottom,
                                 const vector<Blob<Dtype>*>& top) {
  kernels::ReluForward(context, bottom[0]->count(), Slope(), Data(context, *bottom[0]),
                       MutableData(context, top[0]), this->template SavedBytes<uint8_t>(0));
}

template <typename Dtype>
void ReLULayer<Dtype>::BackwardOn(const DeviceContext& context, const vector<Blob<Dtype>*>& top,
                                  const vector<bool>& propagate_down,
                                  const vector<Blob<Dtype>*>& bottom) {
  if (!propagate_down[0]) return;
  const int form = this->form() + (Slope() < 0 ? 1 : 0);
  const int n = bottom[0]->count();
  const Dtype* dy = Diff(context, *top[0]);
  Dtype* dx = MutableDiff(context, bottom[0]);
  if (form == kFromMask) {
    kernels::ReluBackwardFromMask(context, n, Slope(), this->template SavedBytes<uint8_t>(0), dy,
                                  dx);
  } else {
    const Blob<Dtype>& source = form == kFromY ? *top[0] : *bottom[0];
    kernels::ReluBackward(context, n, Slope(), Data(context, source), dy, dx);
  }
}

INSTANTIATE_CLASS(ReLULayer);
REGISTER_LAYER_CLASS(ReLU);

}  // namespace caffe
