#include "caffe/layers/relu_layer.hpp"

#include "caffe/kernels/activation/activation.hpp"
#include "caffe/kernels/packed_codes.hpp"
#include "caffe/layer_axes.hpp"
#include "caffe/layers/derived.hpp"
#include "caffe/layers/unary_traits.hpp"

namespace caffe {

namespace {

// Backward variants in the order of Traits. A negative slope drops the first.
enum ReLUVariant { kReLUFromY, kReLUFromMask, kReLUFromX };

}  // namespace

template <typename Dtype>
Dtype ReLULayer<Dtype>::Slope() const {
  return this->layer_param_.relu_param().negative_slope();
}

template <typename Dtype>
MemoryTraits ReLULayer<Dtype>::Traits(const vector<Blob<Dtype>*>& bottom,
                                      const vector<Blob<Dtype>*>& /*top*/,
                                      const vector<bool>& propagate_down) const {
  const int64_t n = bottom[0]->count();
  vector<DerivativeSource> sources = {{"mask", Saved(0)}, {"x", BottomData(0)}};
  if (!(Slope() < 0)) sources.insert(sources.begin(), {"y", TopData(0)});
  MemoryTraits traits = UnaryTraits(
      n * int64_t{sizeof(Dtype)}, {"mask", kernels::PackedBytes(n, 1)}, sources, propagate_down[0]);
  traits.inherited = IsDerived(*this);
  traits.capturable = traits.takes_blocks = true;
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
  const int variant = this->variant() + (Slope() < 0 ? 1 : 0);
  const int n = bottom[0]->count();
  const Dtype* dy = Diff(context, *top[0]);
  Dtype* dx = MutableDiff(context, bottom[0]);
  if (variant == kReLUFromMask) {
    kernels::ReluBackwardFromMask(context, n, Slope(), this->template SavedBytes<uint8_t>(0), dy,
                                  dx);
  } else {
    const Blob<Dtype>& source = variant == kReLUFromY ? *top[0] : *bottom[0];
    kernels::ReluBackward(context, n, Slope(), Data(context, source), dy, dx);
  }
}

INSTANTIATE_CLASS(ReLULayer);
REGISTER_LAYER_CLASS(ReLU);
REGISTER_LAYER_AXES(ReLU, EveryDimension);

}  // namespace caffe
