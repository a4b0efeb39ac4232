#include "caffe/kernels/prelu.hpp"

#include "caffe/kernels/loops.hpp"

namespace caffe {
namespace kernels {
namespace {

/// body(element, its slope's index) for all elements.
template <typename Body>
void ForEach(const DeviceContext& context, const PReluShape& shape, Body body) {
  if (shape.shared) {
    ParallelFor(context, shape.outer * shape.channels * shape.inner,
                [=] LAYRUB_HOST_DEVICE(int64_t i) { body(i, 0); });
    return;
  }
  const PReluShape s = shape;
  ParallelForRows(context, s.outer * s.channels, s.inner,
                  [=] LAYRUB_HOST_DEVICE(int64_t row, int64_t column) {
                    body(row * s.inner + column, row % s.channels);
                  });
}

template <typename Dtype>
LAYRUB_HOST_DEVICE Dtype SlopeGradient(Dtype x, Dtype dy) {
  return x > 0 ? Dtype(0) : dy * x;
}

}  // namespace

template <typename Dtype>
void PReluForward(const DeviceContext& context, const PReluShape& shape, const Dtype* slope,
                  const Dtype* x, Dtype* y, Dtype* copy) {
  ForEach(context, shape, [=] LAYRUB_HOST_DEVICE(int64_t i, int64_t k) {
    const Dtype value = x[i];
    if (copy != nullptr) copy[i] = value;
    y[i] = value > 0 ? value : slope[k] * value;
  });
}

template <typename Dtype>
void PReluBackward(const DeviceContext& context, const PReluShape& shape, const Dtype* slope,
                   const Dtype* x, const Dtype* dy, Dtype* dx) {
  ForEach(context, shape, [=] LAYRUB_HOST_DEVICE(int64_t i, int64_t k) {
    dx[i] = x[i] > 0 ? dy[i] : slope[k] * dy[i];
  });
}

template <typename Dtype>
void PReluSlopeGradient(const DeviceContext& context, const PReluShape& shape, const Dtype* x,
                        const Dtype* dy, Dtype* dslope, Dtype* workspace) {
  if (!shape.shared) {
    ReduceChannels<Dtype>(
        context, shape.outer, shape.channels, shape.inner,
        [=] LAYRUB_HOST_DEVICE(int64_t, int64_t i) { return SlopeGradient(x[i], dy[i]); },
        [=] LAYRUB_HOST_DEVICE(int64_t channel, Dtype sum) { dslope[channel] += sum; });
    return;
  }
  const int64_t length = shape.channels * shape.inner;
  ParallelReduce<Dtype>(
      context, shape.outer, length,
      [=] LAYRUB_HOST_DEVICE(int64_t row, int64_t i) {
        return SlopeGradient(x[row * length + i], dy[row * length + i]);
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
