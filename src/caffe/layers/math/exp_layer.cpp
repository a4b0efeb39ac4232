#include "caffe/layers/exp_layer.hpp"

#include "caffe/kernels/math/exp.hpp"
#include "caffe/layer_axes.hpp"
#include "caffe/layers/derived.hpp"
#include "caffe/layers/unary_traits.hpp"
#include "log_base.hpp"

namespace caffe {

template <typename Dtype>
void ExpLayer<Dtype>::LayerSetUp(const vector<Blob<Dtype>*>& bottom,
                                 const vector<Blob<Dtype>*>& top) {
  NeuronLayer<Dtype>::LayerSetUp(bottom, top);
  const ExpParameter& param = this->layer_param_.exp_param();
  const Dtype log_base = LogOfBase<Dtype>(this->layer_param_.name(), param.base());
  inner_scale_ = log_base * param.scale();
  outer_scale_ = std::exp(log_base * param.shift());
}

template <typename Dtype>
kernels::ExpFunction<Dtype> ExpLayer<Dtype>::Function() const {
  return {inner_scale_, outer_scale_};
}

template <typename Dtype>
MemoryTraits ExpLayer<Dtype>::Traits(const vector<Blob<Dtype>*>& bottom,
                                     const vector<Blob<Dtype>*>& /*top*/,
                                     const vector<bool>& propagate_down) const {
  MemoryTraits traits =
      UnaryTraits(int64_t{bottom[0]->count()} * int64_t{sizeof(Dtype)}, true, propagate_down[0]);
  traits.inherited = IsDerived(*this);
  traits.capturable = traits.takes_blocks = true;
  return traits;
}

template <typename Dtype>
void ExpLayer<Dtype>::ForwardOn(const DeviceContext& context, const vector<Blob<Dtype>*>& bottom,
                                const vector<Blob<Dtype>*>& top) {
  kernels::ExpForward(context, bottom[0]->count(), Function(), Data(context, *bottom[0]),
                      MutableData(context, top[0]), this->template SavedBytes<Dtype>(0));
}

template <typename Dtype>
void ExpLayer<Dtype>::BackwardOn(const DeviceContext& context, const vector<Blob<Dtype>*>& top,
                                 const vector<bool>& propagate_down,
                                 const vector<Blob<Dtype>*>& bottom) {
  if (!propagate_down[0]) return;
  const DerivativeValues<Dtype> source(context, true, this->variant(), *bottom[0], *top[0],
                                       this->template SavedBytes<Dtype>(0));
  const auto backward =
      source.are_y ? kernels::ExpBackwardFromY<Dtype> : kernels::ExpBackward<Dtype>;
  backward(context, bottom[0]->count(), Function(), source.values, Diff(context, *top[0]),
           MutableDiff(context, bottom[0]));
}

INSTANTIATE_CLASS(ExpLayer);
REGISTER_LAYER_CLASS(Exp);
REGISTER_LAYER_AXES(Exp, EveryDimension);

}  // namespace caffe
