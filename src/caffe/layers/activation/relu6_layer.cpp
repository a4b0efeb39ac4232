#include "caffe/layers/relu6_layer.hpp"

#include "caffe/kernels/activation/relu6.hpp"
#include "caffe/kernels/packed_codes.hpp"
#include "caffe/layer_axes.hpp"
#include "caffe/layers/derived.hpp"
#include "caffe/layers/fork_type.hpp"
#include "caffe/layers/unary_traits.hpp"

namespace caffe {
namespace {

enum ReLU6Variant { kReLU6FromY, kReLU6FromX, kReLU6FromMask };

}  // namespace

template <typename Dtype>
MemoryTraits ReLU6Layer<Dtype>::Traits(const vector<Blob<Dtype>*>& bottom,
                                       const vector<Blob<Dtype>*>& /*top*/,
                                       const vector<bool>& propagate_down) const {
  const int64_t n = bottom[0]->count();
  MemoryTraits traits =
      UnaryTraits(n * int64_t{sizeof(Dtype)}, {"mask", kernels::PackedBytes(n, 1)},
                  {{"y", TopData(0)}, {"x", BottomData(0)}, {"mask", Saved(0)}}, propagate_down[0]);
  traits.inherited = IsDerived(*this);
  traits.capturable = traits.takes_blocks = true;
  return traits;
}

template <typename Dtype>
void ReLU6Layer<Dtype>::ForwardOn(const DeviceContext& context, const vector<Blob<Dtype>*>& bottom,
                                  const vector<Blob<Dtype>*>& top) {
  kernels::Relu6Forward(context, bottom[0]->count(), Data(context, *bottom[0]),
                        MutableData(context, top[0]), this->template SavedBytes<uint8_t>(0));
}

template <typename Dtype>
void ReLU6Layer<Dtype>::BackwardOn(const DeviceContext& context, const vector<Blob<Dtype>*>& top,
                                   const vector<bool>& propagate_down,
                                   const vector<Blob<Dtype>*>& bottom) {
  if (!propagate_down[0]) return;
  const int n = bottom[0]->count();
  const Dtype* dy = Diff(context, *top[0]);
  Dtype* dx = MutableDiff(context, bottom[0]);
  if (this->variant() == kReLU6FromMask) {
    kernels::Relu6BackwardFromMask(context, n, this->template SavedBytes<uint8_t>(0), dy, dx);
    return;
  }
  const Blob<Dtype>& source = this->variant() == kReLU6FromY ? *top[0] : *bottom[0];
  kernels::Relu6Backward(context, n, Data(context, source), dy, dx);
}

INSTANTIATE_CLASS(ReLU6Layer);
REGISTER_FORK_LAYER_CLASS(ReLU6);
REGISTER_LAYER_AXES(ReLU6, EveryDimension);

}  // namespace caffe
