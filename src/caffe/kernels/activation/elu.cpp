#include "caffe/kernels/activation/elu.hpp"

#include <cmath>

#include "caffe/kernels/parallel.hpp"

namespace caffe {
namespace kernels {
namespace {

template <typename Dtype>
LAYRUB_HOST_DEVICE Dtype Elu(Dtype x, Dtype alpha) {
  return x > 0 ? x : alpha * std::expm1(x);
}

/// `sign` has the sign of x.
template <typename Dtype>
LAYRUB_HOST_DEVICE Dtype EluGradient(Dtype sign, Dtype y, Dtype alpha, Dtype dy) {
  return sign > 0 ? dy : dy * (alpha + y);
}

}  // namespace

template <typename Dtype>
void EluForward(const DeviceContext& context, int64_t n, Dtype alpha, const Dtype* x, Dtype* y,
                Dtype* copy) {
  const bool copy_y = EluDerivesFromY(alpha);
  ParallelFor(context, n, [=] LAYRUB_HOST_DEVICE(int64_t i) {
    const Dtype from = x[i], value = Elu(from, alpha);
    y[i] = value;
    if (copy != nullptr) copy[i] = copy_y ? value : from;
  });
}

template <typename Dtype>
void EluBackward(const DeviceContext& context, int64_t n, Dtype alpha, const Dtype* x,
                 const Dtype* dy, Dtype* dx) {
  ParallelFor(context, n, [=] LAYRUB_HOST_DEVICE(int64_t i) {
    dx[i] = EluGradient(x[i], Elu(x[i], alpha), alpha, dy[i]);
  });
}

template <typename Dtype>
void EluBackwardFromY(const DeviceContext& context, int64_t n, Dtype alpha, const Dtype* y,
                      const Dtype* dy, Dtype* dx) {
  ParallelFor(context, n,
              [=] LAYRUB_HOST_DEVICE(int64_t i) { dx[i] = EluGradient(y[i], y[i], alpha, dy[i]); });
}

#define INSTANTIATE(Dtype)                                                                    \
  template void EluForward<Dtype>(const DeviceContext&, int64_t, Dtype, const Dtype*, Dtype*, \
                                  Dtype*);                                                    \
  template void EluBackward<Dtype>(const DeviceContext&, int64_t, Dtype, const Dtype*,        \
                                   const Dtype*, Dtype*);                                     \
  template void EluBackwardFromY<Dtype>(const DeviceContext&, int64_t, Dtype, const Dtype*,   \
                                        const Dtype*, Dtype*);

INSTANTIATE(float)
INSTANTIATE(double)
#undef INSTANTIATE

}  // namespace kernels
}  // namespace caffe
