#include "caffe/layers/swish_layer.hpp"

#include "caffe/kernels/activation/swish.hpp"
#include "caffe/layer_axes.hpp"
#include "caffe/layers/derived.hpp"
#include "caffe/layers/unary_traits.hpp"

namespace caffe {

template <typename Dtype>
Dtype SwishLayer<Dtype>::Beta() const {
  return this->layer_param_.swish_param().beta();
}

template <typename Dtype>
MemoryTraits SwishLayer<Dtype>::Traits(const vector<Blob<Dtype>*>& bottom,
                                       const vector<Blob<Dtype>*>& /*top*/,
                                       const vector<bool>& propagate_down) const {
  MemoryTraits traits =
      UnaryTraits(int64_t{bottom[0]->count()} * int64_t{sizeof(Dtype)}, false, propagate_down[0]);
  traits.inherited = IsDerived(*this);
  traits.capturable = traits.takes_blocks = true;
  return traits;
}

template <typename Dtype>
void SwishLayer<Dtype>::ForwardOn(const DeviceContext& context, const vector<Blob<Dtype>*>& bottom,
                                  const vector<Blob<Dtype>*>& top) {
  kernels::SwishForward(context, bottom[0]->count(), Beta(), Data(context, *bottom[0]),
                        MutableData(context, top[0]), this->template SavedBytes<Dtype>(0));
}

template <typename Dtype>
void SwishLayer<Dtype>::BackwardOn(const DeviceContext& context, const vector<Blob<Dtype>*>& top,
                                   const vector<bool>& propagate_down,
                                   const vector<Blob<Dtype>*>& bottom) {
  if (!propagate_down[0]) return;
  const DerivativeValues<Dtype> x(context, false, this->variant(), *bottom[0], *top[0],
                                  this->template SavedBytes<Dtype>(0));
  kernels::SwishBackward(context, bottom[0]->count(), Beta(), x.values, Diff(context, *top[0]),
                         MutableDiff(context, bottom[0]));
}

INSTANTIATE_CLASS(SwishLayer);
REGISTER_LAYER_CLASS(Swish);
REGISTER_LAYER_AXES(Swish, EveryDimension);

}  // namespace caffe
