#include "caffe/kernels/math/scale.hpp"

#include "caffe/kernels/loops.hpp"

namespace caffe {
namespace kernels {

template <typename Dtype>
void ScaleForward(const DeviceContext& context, int64_t outer, int64_t channels, int64_t inner,
                  const Dtype* x, const Dtype* scale, const Dtype* bias, Dtype* y, Dtype* copy) {
  ParallelForChannels(
      context, outer, channels, inner,
      [=] LAYRUB_HOST_DEVICE(int64_t channel, int64_t i) {
        const Dtype value = x[i], scaled = value * scale[channel];
        return ValueAndCopy<Dtype>{bias == nullptr ? scaled : scaled + bias[channel], value};
      },
      ToBoth{y, copy});
}

template <typename Dtype>
void ScaleBackward(const DeviceContext& context, int64_t outer, int64_t channels, int64_t inner,
                   const Dtype* dy, const Dtype* x, const Dtype* scale,
                   const Accumulator<Dtype>& dscale, const Accumulator<Dtype>& dbias, Dtype* dx) {
  const Accumulator<Dtype> to_scale = dscale, to_bias = dbias;
  ForChannels(
      context, outer, channels, inner,
      SumOf<Dtype>(
          [=] LAYRUB_HOST_DEVICE(int64_t, int64_t i) { return dy[i] * x[i]; },
          [=] LAYRUB_HOST_DEVICE(int64_t channel, Dtype sum) { to_scale.Add(channel, sum); },
          to_scale.sum != nullptr),
      SumOf<Dtype>(
          [=] LAYRUB_HOST_DEVICE(int64_t, int64_t i) { return dy[i]; },
          [=] LAYRUB_HOST_DEVICE(int64_t channel, Dtype sum) { to_bias.Add(channel, sum); },
          to_bias.sum != nullptr),
      EachOf([=] LAYRUB_HOST_DEVICE(int64_t channel, int64_t i) { return dy[i] * scale[channel]; },
             To{dx}, dx != nullptr));
}

#define LAYRUB_INSTANTIATE_SCALE(Dtype)                                                      \
  template void ScaleForward(const DeviceContext&, int64_t, int64_t, int64_t, const Dtype*,  \
                             const Dtype*, const Dtype*, Dtype*, Dtype*);                    \
  template void ScaleBackward(const DeviceContext&, int64_t, int64_t, int64_t, const Dtype*, \
                              const Dtype*, const Dtype*, const Accumulator<Dtype>&,         \
                              const Accumulator<Dtype>&, Dtype*)
LAYRUB_INSTANTIATE_SCALE(float);
LAYRUB_INSTANTIATE_SCALE(double);
#undef LAYRUB_INSTANTIATE_SCALE

}  // namespace kernels
}  // namespace caffe
