#include "caffe/layers/power_layer.hpp"

#include "caffe/kernels/math/eltwise.hpp"
#include "caffe/kernels/math/power.hpp"
#include "caffe/layer_axes.hpp"
#include "caffe/layers/derived.hpp"

namespace caffe {

template <typename Dtype>
void PowerLayer<Dtype>::LayerSetUp(const vector<Blob<Dtype>*>& bottom,
                                   const vector<Blob<Dtype>*>& top) {
  NeuronLayer<Dtype>::LayerSetUp(bottom, top);
  const PowerParameter& param = this->layer_param_.power_param();
  power_ = param.power();
  scale_ = param.scale();
  shift_ = param.shift();
}

template <typename Dtype>
kernels::PowerFunction<Dtype> PowerLayer<Dtype>::Function() const {
  return {power_, scale_, shift_};
}

template <typename Dtype>
MemoryTraits PowerLayer<Dtype>::Traits(const vector<Blob<Dtype>*>& bottom,
                                       const vector<Blob<Dtype>*>& /*top*/,
                                       const vector<bool>& propagate_down) const {
  const kernels::PowerFunction<Dtype> function = Function();
  MemoryTraits traits;
  traits.declared = traits.sliceable = true;
  traits.inherited = IsDerived(*this);
  traits.forward.reads = {BottomData(0)};
  traits.forward.writes = {TopData(0)};
  traits.forward.may_alias = {{TopData(0), BottomData(0)}};
  OperandVariant constant;
  constant.name = "constant";
  constant.reads = {TopDiff(0)};
  constant.writes = {BottomDiff(0)};
  constant.may_alias = {{BottomDiff(0), TopDiff(0)}};
  if (!function.IsLinear()) {
    traits.saved = {{"x", int64_t{bottom[0]->count()} * int64_t{sizeof(Dtype)}}};
  }
  if (!propagate_down[0]) return traits;
  if (function.IsLinear()) {
    traits.backward = {constant};
    return traits;
  }
  const auto add_variant = [&](const char* name, const Operand& source) {
    OperandVariant variant = constant;
    variant.name = name;
    variant.from_copy = source.kind == Operand::kSaved;
    variant.reads.push_back(source);
    variant.may_alias.emplace_back(BottomDiff(0), source);
    traits.backward.push_back(variant);
  };
  if (function.DerivesFromY()) add_variant("y", TopData(0));
  add_variant("x", BottomData(0));
  add_variant("saved", Saved(0));
  return traits;
}

template <typename Dtype>
void PowerLayer<Dtype>::ForwardOn(const DeviceContext& context, const vector<Blob<Dtype>*>& bottom,
                                  const vector<Blob<Dtype>*>& top) {
  const kernels::PowerFunction<Dtype> function = Function();
  kernels::PowerForward(context, bottom[0]->count(), function, Data(context, *bottom[0]),
                        MutableData(context, top[0]),
                        function.IsLinear() ? nullptr : this->template SavedBytes<Dtype>(0));
}

template <typename Dtype>
void PowerLayer<Dtype>::BackwardOn(const DeviceContext& context, const vector<Blob<Dtype>*>& top,
                                   const vector<bool>& propagate_down,
                                   const vector<Blob<Dtype>*>& bottom) {
  if (!propagate_down[0]) return;
  const kernels::PowerFunction<Dtype> function = Function();
  const int n = bottom[0]->count();
  const Dtype* dy = Diff(context, *top[0]);
  Dtype* dx = MutableDiff(context, bottom[0]);
  if (function.IsLinear()) {
    kernels::Scaled(context, n, function.Slope(), dy, dx);
  } else if (function.DerivesFromY() && this->variant() == 0) {
    kernels::PowerBackwardFromY(context, n, function, Data(context, *top[0]), dy, dx);
  } else {
    const Dtype* saved = this->template SavedBytes<Dtype>(0);
    kernels::PowerBackward(context, n, function, saved ? saved : Data(context, *bottom[0]), dy, dx);
  }
}

INSTANTIATE_CLASS(PowerLayer);
REGISTER_LAYER_CLASS(Power);
REGISTER_LAYER_AXES(Power, EveryDimension);

}  // namespace caffe
