#include "caffe/layers/clip_layer.hpp"

#include "caffe/kernels/activation/clip.hpp"
#include "caffe/kernels/packed_codes.hpp"
#include "caffe/layer_axes.hpp"
#include "caffe/layers/derived.hpp"
#include "caffe/layers/unary_traits.hpp"

namespace caffe {
namespace {

enum ClipVariant { kClipFromX, kClipFromMask };

}  // namespace

template <typename Dtype>
MemoryTraits ClipLayer<Dtype>::Traits(const vector<Blob<Dtype>*>& bottom,
                                      const vector<Blob<Dtype>*>& /*top*/,
                                      const vector<bool>& propagate_down) const {
  const int64_t n = bottom[0]->count();
  MemoryTraits traits =
      UnaryTraits(n * int64_t{sizeof(Dtype)}, {"mask", kernels::PackedBytes(n, 1)},
                  {{"x", BottomData(0)}, {"mask", Saved(0)}}, propagate_down[0]);
  traits.inherited = IsDerived(*this);
  traits.capturable = traits.takes_blocks = true;
  return traits;
}

template <typename Dtype>
void ClipLayer<Dtype>::ForwardOn(const DeviceContext& context, const vector<Blob<Dtype>*>& bottom,
                                 const vector<Blob<Dtype>*>& top) {
  const ClipParameter& param = this->layer_param_.clip_param();
  kernels::ClipForward<Dtype>(context, bottom[0]->count(), param.min(), param.max(),
                              Data(context, *bottom[0]), MutableData(context, top[0]),
                              this->template SavedBytes<uint8_t>(0));
}

template <typename Dtype>
void ClipLayer<Dtype>::BackwardOn(const DeviceContext& context, const vector<Blob<Dtype>*>& top,
                                  const vector<bool>& propagate_down,
                                  const vector<Blob<Dtype>*>& bottom) {
  if (!propagate_down[0]) return;
  const ClipParameter& param = this->layer_param_.clip_param();
  const int n = bottom[0]->count();
  const Dtype* dy = Diff(context, *top[0]);
  Dtype* dx = MutableDiff(context, bottom[0]);
  if (this->variant() == kClipFromX) {
    kernels::ClipBackward<Dtype>(context, n, param.min(), param.max(), Data(context, *bottom[0]),
                                 dy, dx);
  } else {
    kernels::ClipBackwardFromMask(context, n, this->template SavedBytes<uint8_t>(0), dy, dx);
  }
}

INSTANTIATE_CLASS(ClipLayer);
REGISTER_LAYER_CLASS(Clip);
REGISTER_LAYER_AXES(Clip, EveryDimension);

}  // namespace caffe
