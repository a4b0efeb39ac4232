#include "caffe/kernels/math/bias.hpp"

#include "caffe/kernels/loops.hpp"

namespace caffe {
namespace kernels {

template <typename Dtype>
void BiasForward(const DeviceContext& context, const ChannelShape& shape, const Dtype* x,
                 const Dtype* bias, Dtype* y) {
  ParallelForChannels(
      context, shape,
      [=] LAYRUB_HOST_DEVICE(int64_t channel, int64_t i) { return x[i] + bias[channel]; }, To{y});
}

template <typename Dtype>
void BiasGradient(const DeviceContext& context, const ChannelShape& shape, const Dtype* dy,
                  const Accumulator<Dtype>& dbias) {
  const auto add = [&](const ChannelShape& items, const Dtype* given, bool further) {
    const Accumulator<Dtype> to{dbias.sum, dbias.add || further};
    ReduceChannels<Dtype>(
        context, items, [=] LAYRUB_HOST_DEVICE(int64_t, int64_t i) { return given[i]; },
        [=] LAYRUB_HOST_DEVICE(int64_t channel, Dtype sum) { to.Add(channel, sum); });
  };
  if (context.launch || shape.outer == 0) return add(shape, dy, false);
  // Item after item, so that slices of the batch give the same bits.
  ChannelShape item = shape;
  item.outer = 1;
  for (int64_t i = 0; i < shape.outer; ++i) add(item, dy + i * item.count(), i > 0);
}

#define LAYRUB_INSTANTIATE_BIAS(Dtype)                                                             \
  template void BiasForward(const DeviceContext&, const ChannelShape&, const Dtype*, const Dtype*, \
                            Dtype*);                                                               \
  template void BiasGradient(const DeviceContext&, const ChannelShape&, const Dtype*,              \
                             const Accumulator<Dtype>&)
LAYRUB_INSTANTIATE_BIAS(float);
LAYRUB_INSTANTIATE_BIAS(double);
#undef LAYRUB_INSTANTIATE_BIAS

}  // namespace kernels
}  // namespace caffe
