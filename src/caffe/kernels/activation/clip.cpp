#include "caffe/kernels/activation/clip.hpp"

#include "caffe/kernels/packed_loops.hpp"

namespace caffe {
namespace kernels {
namespace {

template <typename Dtype>
LAYRUB_HOST_DEVICE Dtype Clipped(Dtype x, Dtype low, Dtype high) {
  const Dtype most = x > high ? high : x;
  return most < low ? low : most;
}

template <typename Dtype>
LAYRUB_HOST_DEVICE bool IsInside(Dtype x, Dtype low, Dtype high) {
  return (x >= low) & (x <= high);
}

}  // namespace

template <typename Dtype>
void ClipForward(const DeviceContext& context, int64_t n, Dtype low, Dtype high, const Dtype* x,
                 Dtype* y, uint8_t* inside) {
  ForwardWithCodes<1>(
      context, n, x, y, inside, [=] LAYRUB_HOST_DEVICE(Dtype v) { return Clipped(v, low, high); },
      [=] LAYRUB_HOST_DEVICE(Dtype v) { return IsInside(v, low, high) ? 1u : 0u; });
}

template <typename Dtype>
void ClipBackward(const DeviceContext& context, int64_t n, Dtype low, Dtype high, const Dtype* x,
                  const Dtype* dy, Dtype* dx) {
  ParallelFor(
      context, n,
      [=] LAYRUB_HOST_DEVICE(int64_t i) -> Dtype {
        return dy[i] * static_cast<Dtype>(IsInside(x[i], low, high));
      },
      To{dx});
}

template <typename Dtype>
void ClipBackwardFromMask(const DeviceContext& context, int64_t n, const uint8_t* inside,
                          const Dtype* dy, Dtype* dx) {
  ParallelFor(
      context, n,
      [=] LAYRUB_HOST_DEVICE(int64_t i) -> Dtype {
        return dy[i] * static_cast<Dtype>(CodeAt<1>(inside, i));
      },
      To{dx});
}

#define INSTANTIATE(Dtype)                                                                     \
  template void ClipForward<Dtype>(const DeviceContext&, int64_t, Dtype, Dtype, const Dtype*,  \
                                   Dtype*, uint8_t*);                                          \
  template void ClipBackward<Dtype>(const DeviceContext&, int64_t, Dtype, Dtype, const Dtype*, \
                                    const Dtype*, Dtype*);                                     \
  template void ClipBackwardFromMask<Dtype>(const DeviceContext&, int64_t, const uint8_t*,     \
                                            const Dtype*, Dtype*);

INSTANTIATE(float)
INSTANTIATE(double)
#undef INSTANTIATE

}  // namespace kernels
}  // namespace caffe
