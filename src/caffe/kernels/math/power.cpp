#include "caffe/kernels/math/power.hpp"

#include <cmath>

#include "caffe/kernels/parallel.hpp"

namespace caffe {
namespace kernels {

namespace {

/// With y = u ^ p, u ^ (p - 1) = y ^ ((p - 1) / p).
template <typename Dtype>
Dtype ExponentOfY(Dtype power) {
  return (power - 1) / power;
}

template <typename Dtype>
LAYRUB_HOST_DEVICE Dtype Raise(Dtype base, Dtype exponent) {
  if (exponent == 1) return base;
  if (exponent == 2) return base * base;
  if (exponent == -1) return 1 / base;
  if (exponent == Dtype(0.5)) return std::sqrt(base);
  return std::pow(base, exponent);
}

/// shift + scale * x; with a scale of 0 it is constant, even if x is not finite.
template <typename Dtype>
LAYRUB_HOST_DEVICE Dtype Base(const PowerFunction<Dtype>& f, Dtype x) {
  return f.scale == 0 ? f.shift : f.shift + f.scale * x;
}

}  // namespace

template <typename Dtype>
bool PowerFunction<Dtype>::DerivesFromY() const {
  const Dtype exponent = ExponentOfY(power);
  return power != 0 && exponent == std::floor(exponent);
}

template <typename Dtype>
void PowerForward(const DeviceContext& context, int64_t n, const PowerFunction<Dtype>& function,
                  const Dtype* x, Dtype* y, Dtype* copy) {
  const PowerFunction<Dtype> f = function;
  ParallelFor(context, n, [=] LAYRUB_HOST_DEVICE(int64_t i) {
    const Dtype value = x[i];
    if (copy != nullptr) copy[i] = value;
    y[i] = Raise(Base(f, value), f.power);
  });
}

template <typename Dtype>
void PowerBackward(const DeviceContext& context, int64_t n, const PowerFunction<Dtype>& function,
                   const Dtype* x, const Dtype* dy, Dtype* dx) {
  const PowerFunction<Dtype> f = function;
  const Dtype slope = f.Slope();
  if (f.DerivesFromY()) {
    // Computes y first, to get the same bits as PowerBackwardFromY.
    const Dtype exponent = ExponentOfY(f.power);
    ParallelFor(context, n, [=] LAYRUB_HOST_DEVICE(int64_t i) {
      dx[i] = slope * Raise(Raise(Base(f, x[i]), f.power), exponent) * dy[i];
    });
    return;
  }
  ParallelFor(context, n, [=] LAYRUB_HOST_DEVICE(int64_t i) {
    dx[i] = slope * Raise(Base(f, x[i]), f.power - 1) * dy[i];
  });
}

template <typename Dtype>
void PowerBackwardFromY(const DeviceContext& context, int64_t n,
                        const PowerFunction<Dtype>& function, const Dtype* y, const Dtype* dy,
                        Dtype* dx) {
  const Dtype slope = function.Slope();
  const Dtype exponent = ExponentOfY(function.power);
  ParallelFor(context, n,
              [=] LAYRUB_HOST_DEVICE(int64_t i) { dx[i] = slope * Raise(y[i], exponent) * dy[i]; });
}

#define INSTANTIATE(Dtype)                                                                         \
  template struct PowerFunction<Dtype>;                                                            \
  template void PowerForward<Dtype>(const DeviceContext&, int64_t, const PowerFunction<Dtype>&,    \
                                    const Dtype*, Dtype*, Dtype*);                                 \
  template void PowerBackward<Dtype>(const DeviceContext&, int64_t, const PowerFunction<Dtype>&,   \
                                     const Dtype*, const Dtype*, Dtype*);                          \
  template void PowerBackwardFromY<Dtype>(const DeviceContext&, int64_t,                           \
                                          const PowerFunction<Dtype>&, const Dtype*, const Dtype*, \
                                          Dtype*);

INSTANTIATE(float)
INSTANTIATE(double)
#undef INSTANTIATE

}  // namespace kernels
}  // namespace caffe
