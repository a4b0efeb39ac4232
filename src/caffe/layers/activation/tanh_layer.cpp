#include "caffe/layers/tanh_layer.hpp"

#include "caffe/kernels/activation/activation.hpp"
#include "caffe/kernels/shape/copy.hpp"
#include "caffe/layer_axes.hpp"
#include "caffe/layers/derived.hpp"
#include "caffe/layers/output_traits.hpp"

namespace caffe {

template <typename Dtype>
MemoryTraits TanHLayer<Dtype>::Traits(const vector<Blob<Dtype>*>& bottom,
                                      const vector<Blob<Dtype>*>& /*top*/,
                                      const vector<bool>& propagate_down) const {
  MemoryTraits traits =
      TraitsFromOutput(int64_t{bottom[0]->count()} * int64_t{sizeof(Dtype)}, propagate_down[0]);
  traits.inherited = IsDerived(*this);
  traits.capturable = traits.takes_blocks = true;
  return traits;
}

template <typename Dtype>
void TanHLayer<Dtype>::ForwardOn(const DeviceContext& context, const vector<Blob<Dtype>*>& bottom,
                                 const vector<Blob<Dtype>*>& top) {
  const int n = bottom[0]->count();
  Dtype* y = MutableData(context, top[0]);
  kernels::TanhForward(context, n, Data(context, *bottom[0]), y);
  if (Dtype* saved = this->template SavedBytes<Dtype>(0)) kernels::Copy(context, n, y, saved);
}

template <typename Dtype>
void TanHLayer<Dtype>::BackwardOn(const DeviceContext& context, const vector<Blob<Dtype>*>& top,
                                  const vector<bool>& propagate_down,
                                  const vector<Blob<Dtype>*>& bottom) {
  if (!propagate_down[0]) return;
  const Dtype* saved = this->template SavedBytes<Dtype>(0);
  kernels::TanhBackward(context, bottom[0]->count(), saved ? saved : Data(context, *top[0]),
                        Diff(context, *top[0]), MutableDiff(context, bottom[0]));
}

INSTANTIATE_CLASS(TanHLayer);
REGISTER_LAYER_CLASS(TanH);
REGISTER_LAYER_AXES(TanH, EveryDimension);

}  // namespace caffe
