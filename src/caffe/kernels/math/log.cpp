#include "caffe/kernels/math/log.hpp"

#include <cmath>

#include "caffe/kernels/parallel.hpp"

namespace caffe {
namespace kernels {
namespace {

template <typename Dtype>
LAYRUB_HOST_DEVICE Dtype Argument(const LogFunction<Dtype>& f, Dtype x) {
  return f.shift + f.scale * x;
}

}  // namespace

template <typename Dtype>
void LogForward(const DeviceContext& context, int64_t n, const LogFunction<Dtype>& function,
                const Dtype* x, Dtype* y, Dtype* copy) {
  const LogFunction<Dtype> f = function;
  ParallelFor(context, n, [=] LAYRUB_HOST_DEVICE(int64_t i) {
    const Dtype from = x[i];
    if (copy != nullptr) copy[i] = from;
    y[i] = f.outer * std::log(Argument(f, from));
  });
}

template <typename Dtype>
void LogBackward(const DeviceContext& context, int64_t n, const LogFunction<Dtype>& function,
                 const Dtype* x, const Dtype* dy, Dtype* dx) {
  const LogFunction<Dtype> f = function;
  const Dtype slope = f.outer * f.scale;
  ParallelFor(context, n,
              [=] LAYRUB_HOST_DEVICE(int64_t i) { dx[i] = dy[i] * slope / Argument(f, x[i]); });
}

#define INSTANTIATE(Dtype)                                                                   \
  template void LogForward<Dtype>(const DeviceContext&, int64_t, const LogFunction<Dtype>&,  \
                                  const Dtype*, Dtype*, Dtype*);                             \
  template void LogBackward<Dtype>(const DeviceContext&, int64_t, const LogFunction<Dtype>&, \
                                   const Dtype*, const Dtype*, Dtype*);

INSTANTIATE(float)
INSTANTIATE(double)
#undef INSTANTIATE

}  // namespace kernels
}  // namespace caffe
