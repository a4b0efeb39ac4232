#include "caffe/layers/bnll_layer.hpp"

#include "caffe/kernels/activation/bnll.hpp"
#include "caffe/layer_axes.hpp"
#include "caffe/layers/derived.hpp"
#include "caffe/layers/unary_traits.hpp"

namespace caffe {

template <typename Dtype>
MemoryTraits BNLLLayer<Dtype>::Traits(const vector<Blob<Dtype>*>& bottom,
                                      const vector<Blob<Dtype>*>& /*top*/,
                                      const vector<bool>& propagate_down) const {
  MemoryTraits traits =
      UnaryTraits(int64_t{bottom[0]->count()} * int64_t{sizeof(Dtype)}, true, propagate_down[0]);
  traits.inherited = IsDerived(*this);
  traits.capturable = traits.takes_blocks = true;
  return traits;
}

template <typename Dtype>
void BNLLLayer<Dtype>::ForwardOn(const DeviceContext& context, const vector<Blob<Dtype>*>& bottom,
                                 const vector<Blob<Dtype>*>& top) {
  kernels::BnllForward(context, bottom[0]->count(), Data(context, *bottom[0]),
                       MutableData(context, top[0]), this->template SavedBytes<Dtype>(0));
}

template <typename Dtype>
void BNLLLayer<Dtype>::BackwardOn(const DeviceContext& context, const vector<Blob<Dtype>*>& top,
                                  const vector<bool>& propagate_down,
                                  const vector<Blob<Dtype>*>& bottom) {
  if (!propagate_down[0]) return;
  const DerivativeValues<Dtype> source(context, true, this->variant(), *bottom[0], *top[0],
                                       this->template SavedBytes<Dtype>(0));
  const auto backward =
      source.are_y ? kernels::BnllBackwardFromY<Dtype> : kernels::BnllBackward<Dtype>;
  backward(context, bottom[0]->count(), source.values, Diff(context, *top[0]),
           MutableDiff(context, bottom[0]));
}

INSTANTIATE_CLASS(BNLLLayer);
REGISTER_LAYER_CLASS(BNLL);
REGISTER_LAYER_AXES(BNLL, EveryDimension);

}  // namespace caffe
