#include "caffe/layers/log_layer.hpp"

#include "caffe/kernels/math/log.hpp"
#include "caffe/layer_axes.hpp"
#include "caffe/layers/derived.hpp"
#include "caffe/layers/unary_traits.hpp"
#include "log_base.hpp"

namespace caffe {

template <typename Dtype>
void LogLayer<Dtype>::LayerSetUp(const vector<Blob<Dtype>*>& bottom,
                                 const vector<Blob<Dtype>*>& top) {
  NeuronLayer<Dtype>::LayerSetUp(bottom, top);
  const LogParameter& param = this->layer_param_.log_param();
  const string& name = this->layer_param_.name();
  base_scale_ = 1 / LogOfBase<Dtype>(name, param.base());
  CHECK(std::isfinite(base_scale_))
      << "Layer " << name << ": there is no logarithm with base " << param.base() << ".";
  input_scale_ = param.scale();
  input_shift_ = param.shift();
}

template <typename Dtype>
kernels::LogFunction<Dtype> LogLayer<Dtype>::Function() const {
  return {base_scale_, input_scale_, input_shift_};
}

template <typename Dtype>
MemoryTraits LogLayer<Dtype>::Traits(const vector<Blob<Dtype>*>& bottom,
                                     const vector<Blob<Dtype>*>& /*top*/,
                                     const vector<bool>& propagate_down) const {
  MemoryTraits traits =
      UnaryTraits(int64_t{bottom[0]->count()} * int64_t{sizeof(Dtype)}, false, propagate_down[0]);
  traits.inherited = IsDerived(*this);
  traits.capturable = traits.takes_blocks = true;
  return traits;
}

template <typename Dtype>
void LogLayer<Dtype>::ForwardOn(const DeviceContext& context, const vector<Blob<Dtype>*>& bottom,
                                const vector<Blob<Dtype>*>& top) {
  kernels::LogForward(context, bottom[0]->count(), Function(), Data(context, *bottom[0]),
                      MutableData(context, top[0]), this->template SavedBytes<Dtype>(0));
}

template <typename Dtype>
void LogLayer<Dtype>::BackwardOn(const DeviceContext& context, const vector<Blob<Dtype>*>& top,
                                 const vector<bool>& propagate_down,
                                 const vector<Blob<Dtype>*>& bottom) {
  if (!propagate_down[0]) return;
  const DerivativeValues<Dtype> x(context, false, this->variant(), *bottom[0], *top[0],
                                  this->template SavedBytes<Dtype>(0));
  kernels::LogBackward(context, bottom[0]->count(), Function(), x.values, Diff(context, *top[0]),
                       MutableDiff(context, bottom[0]));
}

INSTANTIATE_CLASS(LogLayer);
REGISTER_LAYER_CLASS(Log);
REGISTER_LAYER_AXES(Log, EveryDimension);

}  // namespace caffe
