#include "caffe/kernels/activation/relu6.hpp"

#include "caffe/kernels/packed_loops.hpp"

namespace caffe {
namespace kernels {
namespace {

template <typename Dtype>
LAYRUB_HOST_DEVICE Dtype Relu6(Dtype x) {
  const Dtype positive = x < 0 ? Dtype(0) : x;
  return positive > 6 ? Dtype(6) : positive;
}

/// Gives the same result for x and for y: y is between 0 and 6 exactly if x is.
template <typename Dtype>
LAYRUB_HOST_DEVICE bool IsInBetween(Dtype v) {
  return (v > 0) & (v < 6);
}

}  // namespace

template <typename Dtype>
void Relu6Forward(const DeviceContext& context, int64_t n, const Dtype* x, Dtype* y,
                  uint8_t* inside) {
  ForwardWithCodes<1>(
      context, n, x, y, inside, [=] LAYRUB_HOST_DEVICE(Dtype v) { return Relu6(v); },
      [=] LAYRUB_HOST_DEVICE(Dtype v) { return IsInBetween(v) ? 1u : 0u; });
}

template <typename Dtype>
void Relu6Backward(const DeviceContext& context, int64_t n, const Dtype* v, const Dtype* dy,
                   Dtype* dx) {
  ParallelFor(
      context, n,
      [=] LAYRUB_HOST_DEVICE(int64_t i) -> Dtype {
        return dy[i] * static_cast<Dtype>(IsInBetween(v[i]));
      },
      To{dx});
}

template <typename Dtype>
void Relu6BackwardFromMask(const DeviceContext& context, int64_t n, const uint8_t* inside,
                           const Dtype* dy, Dtype* dx) {
  ParallelFor(
      context, n,
      [=] LAYRUB_HOST_DEVICE(int64_t i) -> Dtype {
        return dy[i] * static_cast<Dtype>(CodeAt<1>(inside, i));
      },
      To{dx});
}

#define INSTANTIATE(Dtype)                                                                      \
  template void Relu6Forward<Dtype>(const DeviceContext&, int64_t, const Dtype*, Dtype*,        \
                                    uint8_t*);                                                  \
  template void Relu6Backward<Dtype>(const DeviceContext&, int64_t, const Dtype*, const Dtype*, \
                                     Dtype*);                                                   \
  template void Relu6BackwardFromMask<Dtype>(const DeviceContext&, int64_t, const uint8_t*,     \
                                             const Dtype*, Dtype*)
INSTANTIATE(float);
INSTANTIATE(double);
#undef INSTANTIATE

}  // namespace kernels
}  // namespace caffe
