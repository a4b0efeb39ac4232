#include "caffe/kernels/math/absval.hpp"

#include <cmath>

#include "caffe/kernels/packed_loops.hpp"

namespace caffe {
namespace kernels {
namespace {

/// sign(x) + 1
template <typename Dtype>
LAYRUB_HOST_DEVICE unsigned SignCode(Dtype x) {
  return 1u + (x > 0) - (x < 0);
}

template <typename Dtype>
LAYRUB_HOST_DEVICE Dtype Sign(unsigned code) {
  return static_cast<Dtype>(static_cast<int>(code) - 1);
}

}  // namespace

template <typename Dtype>
void AbsValForward(const DeviceContext& context, int64_t n, const Dtype* x, Dtype* y,
                   uint8_t* signs) {
  ForwardWithCodes<kSignBits>(
      context, n, x, y, signs, [=] LAYRUB_HOST_DEVICE(Dtype v) { return std::fabs(v); },
      [=] LAYRUB_HOST_DEVICE(Dtype v) { return SignCode(v); });
}

template <typename Dtype>
void AbsValBackward(const DeviceContext& context, int64_t n, const Dtype* x, const Dtype* dy,
                    Dtype* dx) {
  ParallelFor(
      context, n,
      [=] LAYRUB_HOST_DEVICE(int64_t i) -> Dtype { return Sign<Dtype>(SignCode(x[i])) * dy[i]; },
      To{dx});
}

template <typename Dtype>
void AbsValBackwardFromSigns(const DeviceContext& context, int64_t n, const uint8_t* signs,
                             const Dtype* dy, Dtype* dx) {
  ParallelFor(
      context, n,
      [=] LAYRUB_HOST_DEVICE(int64_t i) -> Dtype {
        return Sign<Dtype>(CodeAt<kSignBits>(signs, i)) * dy[i];
      },
      To{dx});
}

#define INSTANTIATE(Dtype)                                                                       \
  template void AbsValForward<Dtype>(const DeviceContext&, int64_t, const Dtype*, Dtype*,        \
                                     uint8_t*);                                                  \
  template void AbsValBackward<Dtype>(const DeviceContext&, int64_t, const Dtype*, const Dtype*, \
                                      Dtype*);                                                   \
  template void AbsValBackwardFromSigns<Dtype>(const DeviceContext&, int64_t, const uint8_t*,    \
                                               const Dtype*, Dtype*);

INSTANTIATE(float)
INSTANTIATE(double)
#undef INSTANTIATE

}  // namespace kernels
}  // namespace caffe
