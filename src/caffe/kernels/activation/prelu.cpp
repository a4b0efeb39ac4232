#include "caffe/kernels/activation/prelu.hpp"

#include "caffe/kernels/loops.hpp"

namespace caffe {
namespace kernels {
namespace {

/// Calls body(begin, end, k) for ranges [begin, end) that together cover the array; all elements of
/// a range have slope k.
template <typename Body>
void ForRanges(const DeviceContext& context, const PReluShape& shape, Body body) {
  const PReluShape s = shape;
  ParallelForSegments(context, s.outer * s.channels, static_cast<int>(s.inner), s.inner,
                      [=] LAYRUB_HOST_DEVICE(int64_t row, int64_t begin, int64_t end) {
                        body(row * s.inner + begin, row * s.inner + end,
                             s.shared ? 0 : row % s.channels);
                      });
}

// Adding 0 or multiplying by 1 leaves a value unchanged and saves a branch in the loops.

template <typename Dtype>
LAYRUB_HOST_DEVICE Dtype PositivePart(Dtype x) {
  return x > 0 ? x : Dtype(0);
}

template <typename Dtype>
LAYRUB_HOST_DEVICE Dtype NegativePart(Dtype x) {
  return x > 0 ? Dtype(0) : x;
}

}  // namespace

template <typename Dtype>
void PReluForward(const DeviceContext& context, const PReluShape& shape, const Dtype* slope,
                  const Dtype* x, Dtype* y, Dtype* copy) {
  ForRanges(context, shape, [=] LAYRUB_HOST_DEVICE(int64_t begin, int64_t end, int64_t k) {
    if (copy != nullptr) {
      for (int64_t i = begin; i < end; ++i) copy[i] = x[i];
    }
    const Dtype a = slope[k];
    for (int64_t i = begin; i < end; ++i) y[i] = PositivePart(x[i]) + a * NegativePart(x[i]);
  });
}

template <typename Dtype>
void PReluBackward(const DeviceContext& context, const PReluShape& shape, const Dtype* slope,
                   const Dtype* x, const Dtype* dy, Dtype* dx) {
  ForRanges(context, shape, [=] LAYRUB_HOST_DEVICE(int64_t begin, int64_t end, int64_t k) {
    const Dtype a = slope[k];
    for (int64_t i = begin; i < end; ++i) dx[i] = (x[i] > 0 ? Dtype(1) : a) * dy[i];
  });
}

template <typename Dtype>
void PReluSlopeGradient(const DeviceContext& context, const PReluShape& shape, const Dtype* x,
                        const Dtype* dy, Dtype* dslope, Dtype* workspace) {
  if (!shape.shared) {
    ReduceChannels<Dtype>(
        context, shape.outer, shape.channels, shape.inner,
        [=] LAYRUB_HOST_DEVICE(int64_t, int64_t i) { return dy[i] * NegativePart(x[i]); },
        [=] LAYRUB_HOST_DEVICE(int64_t channel, Dtype sum) { dslope[channel] += sum; });
    return;
  }
  const int64_t length = shape.channels * shape.inner;
  ParallelReduce<Dtype>(
      context, shape.outer, length,
      [=] LAYRUB_HOST_DEVICE(int64_t row, int64_t i) {
        return dy[row * length + i] * NegativePart(x[row * length + i]);
      },
      [=] LAYRUB_HOST_DEVICE(int64_t row, Dtype sum) { workspace[row] = sum; });
  ParallelReduce<Dtype>(
      context, 1, shape.outer, [=] LAYRUB_HOST_DEVICE(int64_t, int64_t i) { return workspace[i]; },
      [=] LAYRUB_HOST_DEVICE(int64_t, Dtype sum) { *dslope += sum; });
}

#define INSTANTIATE(Dtype)                                                                       \
  template void PReluForward<Dtype>(const DeviceContext&, const PReluShape&, const Dtype*,       \
                                    const Dtype*, Dtype*, Dtype*);                               \
  template void PReluBackward<Dtype>(const DeviceContext&, const PReluShape&, const Dtype*,      \
                                     const Dtype*, const Dtype*, Dtype*);                        \
  template void PReluSlopeGradient<Dtype>(const DeviceContext&, const PReluShape&, const Dtype*, \
                                          const Dtype*, Dtype*, Dtype*);

INSTANTIATE(float)
INSTANTIATE(double)
#undef INSTANTIATE

}  // namespace kernels
}  // namespace caffe
