#include "caffe/layers/elu_layer.hpp"

#include "caffe/kernels/activation/elu.hpp"
#include "caffe/layer_axes.hpp"
#include "caffe/layers/derived.hpp"
#include "caffe/layers/unary_traits.hpp"

namespace caffe {

template <typename Dtype>
Dtype ELULayer<Dtype>::Alpha() const {
  return this->layer_param_.elu_param().alpha();
}

template <typename Dtype>
MemoryTraits ELULayer<Dtype>::Traits(const vector<Blob<Dtype>*>& bottom,
                                     const vector<Blob<Dtype>*>& /*top*/,
                                     const vector<bool>& propagate_down) const {
  MemoryTraits traits = UnaryTraits(int64_t{bottom[0]->count()} * int64_t{sizeof(Dtype)},
                                    kernels::EluDerivesFromY(Alpha()), propagate_down[0]);
  traits.inherited = IsDerived(*this);
  traits.capturable = traits.takes_blocks = true;
  return traits;
}

template <typename Dtype>
void ELULayer<Dtype>::ForwardOn(const DeviceContext& context, const vector<Blob<Dtype>*>& bottom,
                                const vector<Blob<Dtype>*>& top) {
  kernels::EluForward(context, bottom[0]->count(), Alpha(), Data(context, *bottom[0]),
                      MutableData(context, top[0]), this->template SavedBytes<Dtype>(0));
}

template <typename Dtype>
void ELULayer<Dtype>::BackwardOn(const DeviceContext& context, const vector<Blob<Dtype>*>& top,
                                 const vector<bool>& propagate_down,
                                 const vector<Blob<Dtype>*>& bottom) {
  if (!propagate_down[0]) return;
  const DerivativeValues<Dtype> source(context, kernels::EluDerivesFromY(Alpha()), this->variant(),
                                       *bottom[0], *top[0], this->template SavedBytes<Dtype>(0));
  const auto backward =
      source.are_y ? kernels::EluBackwardFromY<Dtype> : kernels::EluBackward<Dtype>;
  backward(context, bottom[0]->count(), Alpha(), source.values, Diff(context, *top[0]),
           MutableDiff(context, bottom[0]));
}

INSTANTIATE_CLASS(ELULayer);
REGISTER_LAYER_CLASS(ELU);
REGISTER_LAYER_AXES(ELU, EveryDimension);

}  // namespace caffe
