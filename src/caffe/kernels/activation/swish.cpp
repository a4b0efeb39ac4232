#include "caffe/kernels/activation/swish.hpp"

#include <cmath>

#include "caffe/kernels/parallel.hpp"

namespace caffe {
namespace kernels {
namespace {

/// If exp overflows, the result is 0, as it should be.
template <typename Dtype>
LAYRUB_HOST_DEVICE Dtype Gate(Dtype x, Dtype beta) {
  return 1 / (1 + std::exp(-beta * x));
}

}  // namespace

template <typename Dtype>
void SwishForward(const DeviceContext& context, int64_t n, Dtype beta, const Dtype* x, Dtype* y,
                  Dtype* copy) {
  ParallelFor(context, n, [=] LAYRUB_HOST_DEVICE(int64_t i) {
    const Dtype from = x[i];
    if (copy != nullptr) copy[i] = from;
    y[i] = from * Gate(from, beta);
  });
}

template <typename Dtype>
void SwishBackward(const DeviceContext& context, int64_t n, Dtype beta, const Dtype* x,
                   const Dtype* dy, Dtype* dx) {
  ParallelFor(context, n, [=] LAYRUB_HOST_DEVICE(int64_t i) {
    const Dtype gate = Gate(x[i], beta), scaled = beta * (x[i] * gate);
    dx[i] = dy[i] * (scaled + gate * (1 - scaled));
  });
}

#define INSTANTIATE(Dtype)                                                                      \
  template void SwishForward<Dtype>(const DeviceContext&, int64_t, Dtype, const Dtype*, Dtype*, \
                                    Dtype*);                                                    \
  template void SwishBackward<Dtype>(const DeviceContext&, int64_t, Dtype, const Dtype*,        \
                                     const Dtype*, Dtype*);

INSTANTIATE(float)
INSTANTIATE(double)
#undef INSTANTIATE

}  // namespace kernels
}  // namespace caffe
