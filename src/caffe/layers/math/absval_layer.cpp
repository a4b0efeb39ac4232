#include "caffe/layers/absval_layer.hpp"

#include "caffe/kernels/math/absval.hpp"
#include "caffe/layer_axes.hpp"
#include "caffe/layers/derived.hpp"
#include "caffe/layers/unary_traits.hpp"

namespace caffe {
namespace {

enum AbsVariant { kAbsFromX, kAbsFromSigns };

}  // namespace

template <typename Dtype>
MemoryTraits AbsValLayer<Dtype>::Traits(const vector<Blob<Dtype>*>& bottom,
                                        const vector<Blob<Dtype>*>& /*top*/,
                                        const vector<bool>& propagate_down) const {
  const int64_t n = bottom[0]->count();
  MemoryTraits traits = UnaryTraits(n * int64_t{sizeof(Dtype)},
                                    {"signs", kernels::PackedBytes(n, kernels::kSignBits)},
                                    {{"x", BottomData(0)}, {"signs", Saved(0)}}, propagate_down[0]);
  traits.inherited = IsDerived(*this);
  traits.capturable = traits.takes_blocks = true;
  return traits;
}

template <typename Dtype>
void AbsValLayer<Dtype>::ForwardOn(const DeviceContext& context, const vector<Blob<Dtype>*>& bottom,
                                   const vector<Blob<Dtype>*>& top) {
  kernels::AbsValForward(context, bottom[0]->count(), Data(context, *bottom[0]),
                         MutableData(context, top[0]), this->template SavedBytes<uint8_t>(0));
}

template <typename Dtype>
void AbsValLayer<Dtype>::BackwardOn(const DeviceContext& context, const vector<Blob<Dtype>*>& top,
                                    const vector<bool>& propagate_down,
                                    const vector<Blob<Dtype>*>& bottom) {
  if (!propagate_down[0]) return;
  const int n = bottom[0]->count();
  const Dtype* dy = Diff(context, *top[0]);
  Dtype* dx = MutableDiff(context, bottom[0]);
  if (this->variant() == kAbsFromX) {
    kernels::AbsValBackward(context, n, Data(context, *bottom[0]), dy, dx);
  } else {
    kernels::AbsValBackwardFromSigns(context, n, this->template SavedBytes<uint8_t>(0), dy, dx);
  }
}

INSTANTIATE_CLASS(AbsValLayer);
REGISTER_LAYER_CLASS(AbsVal);
REGISTER_LAYER_AXES(AbsVal, EveryDimension);

}  // namespace caffe
