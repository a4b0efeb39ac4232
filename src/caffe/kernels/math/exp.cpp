#include "caffe/kernels/math/exp.hpp"

#include <cmath>

#include "caffe/kernels/parallel.hpp"

namespace caffe {
namespace kernels {
namespace {

template <typename Dtype>
LAYRUB_HOST_DEVICE Dtype Value(const ExpFunction<Dtype>& f, Dtype x) {
  return f.outer * std::exp(f.inner * x);
}

template <typename Dtype>
LAYRUB_HOST_DEVICE Dtype Gradient(const ExpFunction<Dtype>& f, Dtype y, Dtype dy) {
  return dy * f.inner * y;
}

}  // namespace

template <typename Dtype>
void ExpForward(const DeviceContext& context, int64_t n, const ExpFunction<Dtype>& function,
                const Dtype* x, Dtype* y, Dtype* copy) {
  const ExpFunction<Dtype> f = function;
  ParallelFor(context, n, [=] LAYRUB_HOST_DEVICE(int64_t i) {
    const Dtype value = Value(f, x[i]);
    y[i] = value;
    if (copy != nullptr) copy[i] = value;
  });
}

template <typename Dtype>
void ExpBackward(const DeviceContext& context, int64_t n, const ExpFunction<Dtype>& function,
                 const Dtype* x, const Dtype* dy, Dtype* dx) {
  const ExpFunction<Dtype> f = function;
  ParallelFor(context, n,
              [=] LAYRUB_HOST_DEVICE(int64_t i) { dx[i] = Gradient(f, Value(f, x[i]), dy[i]); });
}

template <typename Dtype>
void ExpBackwardFromY(const DeviceContext& context, int64_t n, const ExpFunction<Dtype>& function,
                      const Dtype* y, const Dtype* dy, Dtype* dx) {
  const ExpFunction<Dtype> f = function;
  ParallelFor(context, n, [=] LAYRUB_HOST_DEVICE(int64_t i) { dx[i] = Gradient(f, y[i], dy[i]); });
}

#define INSTANTIATE(Dtype)                                                                        \
  template void ExpForward<Dtype>(const DeviceContext&, int64_t, const ExpFunction<Dtype>&,       \
                                  const Dtype*, Dtype*, Dtype*);                                  \
  template void ExpBackward<Dtype>(const DeviceContext&, int64_t, const ExpFunction<Dtype>&,      \
                                   const Dtype*, const Dtype*, Dtype*);                           \
  template void ExpBackwardFromY<Dtype>(const DeviceContext&, int64_t, const ExpFunction<Dtype>&, \
                                        const Dtype*, const Dtype*, Dtype*);

INSTANTIATE(float)
INSTANTIATE(double)
#undef INSTANTIATE

}  // namespace kernels
}  // namespace caffe
