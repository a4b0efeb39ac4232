#include "caffe/kernels/math/eltwise.hpp"

#include "caffe/kernels/activation/rectifier.hpp"
#include "caffe/kernels/packed_loops.hpp"

namespace caffe {
namespace kernels {

template <typename Dtype>
void Scaled(const DeviceContext& context, int64_t n, Dtype c, const Dtype* x, Dtype* y) {
  ParallelFor(
      context, n, [=] LAYRUB_HOST_DEVICE(int64_t i) -> Dtype { return c * x[i]; }, To{y});
}

template <typename Dtype>
void WeightedSum(const DeviceContext& context, int64_t n, Dtype ca, const Dtype* a, Dtype cb,
                 const Dtype* b, Dtype* y) {
  ParallelFor(
      context, n, [=] LAYRUB_HOST_DEVICE(int64_t i) -> Dtype { return ca * a[i] + cb * b[i]; },
      To{y});
}

template <typename Dtype>
void RectifiedSum(const DeviceContext& context, int64_t n, Dtype ca, const Dtype* a, Dtype cb,
                  const Dtype* b, Dtype slope, Dtype* y, uint8_t* mask) {
  ForwardWithCodes<1>(
      context, n, y, mask,
      [=] LAYRUB_HOST_DEVICE(int64_t i) -> Dtype { return ca * a[i] + cb * b[i]; },
      [=] LAYRUB_HOST_DEVICE(Dtype v) -> Dtype { return Relu(v, slope); },
      [=] LAYRUB_HOST_DEVICE(Dtype v) { return v > 0 ? 1u : 0u; });
}

template <typename Dtype>
void Product(const DeviceContext& context, int64_t n, const Dtype* a, const Dtype* b, Dtype* y) {
  ParallelFor(
      context, n, [=] LAYRUB_HOST_DEVICE(int64_t i) -> Dtype { return a[i] * b[i]; }, To{y});
}

template <typename Dtype>
void QuotientTimes(const DeviceContext& context, int64_t n, const Dtype* y, const Dtype* x,
                   const Dtype* dy, Dtype* dx) {
  ParallelFor(
      context, n, [=] LAYRUB_HOST_DEVICE(int64_t i) -> Dtype { return y[i] / x[i] * dy[i]; },
      To{dx});
}

template <typename Dtype>
void Maximum(const DeviceContext& context, int64_t n, const Dtype* a, const Dtype* b, Dtype* y,
             uint8_t* index) {
  ParallelFor(context, n, [=] LAYRUB_HOST_DEVICE(int64_t i) {
    const bool first = a[i] > b[i];
    y[i] = first ? a[i] : b[i];
    if (index != nullptr) index[i] = first ? 0 : 1;
  });
}

template <typename Dtype>
void MaximumWith(const DeviceContext& context, int64_t n, int k, const Dtype* x, Dtype* y,
                 uint8_t* index) {
  ParallelFor(context, n, [=] LAYRUB_HOST_DEVICE(int64_t i) {
    if (x[i] > y[i]) {
      y[i] = x[i];
      if (index != nullptr) index[i] = static_cast<uint8_t>(k);
    }
  });
}

template <typename Dtype>
void MaximumBackward(const DeviceContext& context, int64_t n, int k, const uint8_t* index,
                     const Dtype* dy, Dtype* dx) {
  ParallelFor(
      context, n,
      [=] LAYRUB_HOST_DEVICE(int64_t i) -> Dtype { return index[i] == k ? dy[i] : Dtype(0); },
      To{dx});
}

#define INSTANTIATE(Dtype)                                                                         \
  template void Scaled<Dtype>(const DeviceContext&, int64_t, Dtype, const Dtype*, Dtype*);         \
  template void WeightedSum<Dtype>(const DeviceContext&, int64_t, Dtype, const Dtype*, Dtype,      \
                                   const Dtype*, Dtype*);                                          \
  template void RectifiedSum<Dtype>(const DeviceContext&, int64_t, Dtype, const Dtype*, Dtype,     \
                                    const Dtype*, Dtype, Dtype*, uint8_t*);                        \
  template void Product<Dtype>(const DeviceContext&, int64_t, const Dtype*, const Dtype*, Dtype*); \
  template void QuotientTimes<Dtype>(const DeviceContext&, int64_t, const Dtype*, const Dtype*,    \
                                     const Dtype*, Dtype*);                                        \
  template void Maximum<Dtype>(const DeviceContext&, int64_t, const Dtype*, const Dtype*, Dtype*,  \
                               uint8_t*);                                                          \
  template void MaximumWith<Dtype>(const DeviceContext&, int64_t, int, const Dtype*, Dtype*,       \
                                   uint8_t*);                                                      \
  template void MaximumBackward<Dtype>(const DeviceContext&, int64_t, int, const uint8_t*,         \
                                       const Dtype*, Dtype*);

INSTANTIATE(float)
INSTANTIATE(double)
#undef INSTANTIATE

}  // namespace kernels
}  // namespace caffe
