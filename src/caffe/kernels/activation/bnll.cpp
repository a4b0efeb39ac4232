#include "caffe/kernels/activation/bnll.hpp"

#include <cmath>

#include "caffe/kernels/parallel.hpp"

namespace caffe {
namespace kernels {
namespace {

/// exp does not overflow, since its argument is never positive.
template <typename Dtype>
LAYRUB_HOST_DEVICE Dtype Bnll(Dtype x) {
  return x > 0 ? x + std::log1p(std::exp(-x)) : std::log1p(std::exp(x));
}

/// As accurate as y, also for small y.
template <typename Dtype>
LAYRUB_HOST_DEVICE Dtype BnllGradient(Dtype y, Dtype dy) {
  return dy * -std::expm1(-y);
}

}  // namespace

template <typename Dtype>
void BnllForward(const DeviceContext& context, int64_t n, const Dtype* x, Dtype* y, Dtype* copy) {
  ParallelFor(context, n, [=] LAYRUB_HOST_DEVICE(int64_t i) {
    const Dtype value = Bnll(x[i]);
    y[i] = value;
    if (copy != nullptr) copy[i] = value;
  });
}

template <typename Dtype>
void BnllBackward(const DeviceContext& context, int64_t n, const Dtype* x, const Dtype* dy,
                  Dtype* dx) {
  ParallelFor(context, n,
              [=] LAYRUB_HOST_DEVICE(int64_t i) { dx[i] = BnllGradient(Bnll(x[i]), dy[i]); });
}

template <typename Dtype>
void BnllBackwardFromY(const DeviceContext& context, int64_t n, const Dtype* y, const Dtype* dy,
                       Dtype* dx) {
  ParallelFor(context, n, [=] LAYRUB_HOST_DEVICE(int64_t i) { dx[i] = BnllGradient(y[i], dy[i]); });
}

#define INSTANTIATE(Dtype)                                                                       \
  template void BnllForward<Dtype>(const DeviceContext&, int64_t, const Dtype*, Dtype*, Dtype*); \
  template void BnllBackward<Dtype>(const DeviceContext&, int64_t, const Dtype*, const Dtype*,   \
                                    Dtype*);                                                     \
  template void BnllBackwardFromY<Dtype>(const DeviceContext&, int64_t, const Dtype*,            \
                                         const Dtype*, Dtype*);

INSTANTIATE(float)
INSTANTIATE(double)
#undef INSTANTIATE

}  // namespace kernels
}  // namespace caffe
