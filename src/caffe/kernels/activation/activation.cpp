#include "caffe/kernels/activation/activation.hpp"

#include <cmath>

#include "caffe/kernels/activation/rectifier.hpp"
#include "caffe/kernels/packed_loops.hpp"

namespace caffe {
namespace kernels {

template <typename Dtype>
void ReluForward(const DeviceContext& context, int64_t n, Dtype slope, const Dtype* x, Dtype* y,
                 uint8_t* mask) {
  ForwardWithCodes<1>(
      context, n, x, y, mask, [=] LAYRUB_HOST_DEVICE(Dtype v) { return Relu(v, slope); },
      [=] LAYRUB_HOST_DEVICE(Dtype v) { return v > 0 ? 1u : 0u; });
}

template <typename Dtype>
void ReluBackward(const DeviceContext& context, int64_t n, Dtype slope, const Dtype* source,
                  const Dtype* dy, Dtype* dx) {
  ParallelFor(
      context, n,
      [=] LAYRUB_HOST_DEVICE(int64_t i) -> Dtype {
        return ReluGradient(source[i] > 0, slope, dy[i]);
      },
      To{dx});
}

template <typename Dtype>
void ReluBackwardFromMask(const DeviceContext& context, int64_t n, Dtype slope, const uint8_t* mask,
                          const Dtype* dy, Dtype* dx) {
  ParallelFor(
      context, n,
      [=] LAYRUB_HOST_DEVICE(int64_t i) -> Dtype {
        return ReluGradient(CodeAt<1>(mask, i) != 0, slope, dy[i]);
      },
      To{dx});
}

template <typename Dtype>
void SigmoidForward(const DeviceContext& context, int64_t n, const Dtype* x, Dtype* y) {
  // If exp overflows, the result is 0, as it should be.
  ParallelFor(
      context, n, [=] LAYRUB_HOST_DEVICE(int64_t i) -> Dtype { return 1 / (1 + std::exp(-x[i])); },
      To{y});
}

template <typename Dtype>
void SigmoidBackward(const DeviceContext& context, int64_t n, const Dtype* y, const Dtype* dy,
                     Dtype* dx) {
  ParallelFor(
      context, n, [=] LAYRUB_HOST_DEVICE(int64_t i) -> Dtype { return dy[i] * y[i] * (1 - y[i]); },
      To{dx});
}

template <typename Dtype>
void TanhForward(const DeviceContext& context, int64_t n, const Dtype* x, Dtype* y) {
  ParallelFor(
      context, n, [=] LAYRUB_HOST_DEVICE(int64_t i) -> Dtype { return std::tanh(x[i]); }, To{y});
}

template <typename Dtype>
void TanhBackward(const DeviceContext& context, int64_t n, const Dtype* y, const Dtype* dy,
                  Dtype* dx) {
  ParallelFor(
      context, n, [=] LAYRUB_HOST_DEVICE(int64_t i) -> Dtype { return dy[i] * (1 - y[i] * y[i]); },
      To{dx});
}

#define INSTANTIATE(Dtype)                                                                        \
  template void ReluForward<Dtype>(const DeviceContext&, int64_t, Dtype, const Dtype*, Dtype*,    \
                                   uint8_t*);                                                     \
  template void ReluBackward<Dtype>(const DeviceContext&, int64_t, Dtype, const Dtype*,           \
                                    const Dtype*, Dtype*);                                        \
  template void ReluBackwardFromMask<Dtype>(const DeviceContext&, int64_t, Dtype, const uint8_t*, \
                                            const Dtype*, Dtype*);                                \
  template void SigmoidForward<Dtype>(const DeviceContext&, int64_t, const Dtype*, Dtype*);       \
  template void SigmoidBackward<Dtype>(const DeviceContext&, int64_t, const Dtype*, const Dtype*, \
                                       Dtype*);                                                   \
  template void TanhForward<Dtype>(const DeviceContext&, int64_t, const Dtype*, Dtype*);          \
  template void TanhBackward<Dtype>(const DeviceContext&, int64_t, const Dtype*, const Dtype*,    \
                                    Dtype*);

INSTANTIATE(float)
INSTANTIATE(double)
#undef INSTANTIATE

}  // namespace kernels
}  // namespace caffe
