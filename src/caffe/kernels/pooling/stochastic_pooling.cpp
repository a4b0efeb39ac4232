#include "caffe/kernels/pooling/stochastic_pooling.hpp"

#include <cfloat>

#include "caffe/kernels/loops.hpp"
#include "caffe/kernels/pooling/pooling_ranges.hpp"
#include "caffe/kernels/random_bits.hpp"

namespace caffe {
namespace kernels {
namespace {

template <typename Dtype>
struct WindowOfPlane {
  const Dtype* plane;
  Range ys, xs;
};

/// Window `column` of row `row` of all planes' windows.
template <typename Dtype>
LAYRUB_HOST_DEVICE inline WindowOfPlane<Dtype> WindowAt(const PoolingWindow& p, const Dtype* x,
                                                        int64_t row, int64_t column) {
  return {x + row / p.pooled_height * p.height * p.width,
          Covered(static_cast<int>(row % p.pooled_height), p.kernel_h, p.stride_h, 0, p.height),
          Covered(static_cast<int>(column), p.kernel_w, p.stride_w, 0, p.width)};
}

template <typename Dtype, typename Index>
void DrawFromWindows(const DeviceContext& context, const PoolingWindow& window, uint64_t key,
                     const Dtype* x, Dtype* y, Index* index) {
  const PoolingWindow p = window;
  const uint64_t stream = RandomBits(key, 0);
  ParallelForRows(
      context, p.planes * p.pooled_height, p.pooled_width,
      [=] LAYRUB_HOST_DEVICE(int64_t row, int64_t column) {
        const auto [plane, ys, xs] = WindowAt(p, x, row, column);
        Dtype sum = 0;
        for (int iy = ys.begin; iy < ys.end; ++iy) {
          for (int ix = xs.begin; ix < xs.end; ++ix) sum += plane[int64_t{iy} * p.width + ix];
        }
        const int64_t at = row * p.pooled_width + column;
        const uint64_t bits = RandomBits(stream, static_cast<uint64_t>(at)) >> 40;  // 24 of them
        const Dtype threshold = static_cast<Dtype>(bits) / (1 << 24) * sum;
        // The first place at which the running sum exceeds the threshold, which is never the place
        // of a zero. If all values are zero it is the first place; if the sum is NaN, the last.
        Dtype seen = 0;
        int place = -1;
        for (int iy = ys.begin; iy < ys.end && place < 0; ++iy) {
          for (int ix = xs.begin; ix < xs.end && place < 0; ++ix) {
            seen += plane[int64_t{iy} * p.width + ix];
            if (seen > threshold || sum == 0) place = (iy - ys.begin) * p.kernel_w + ix - xs.begin;
          }
        }
        const bool empty = ys.begin >= ys.end || xs.begin >= xs.end;
        if (empty) {
          place = 0;
        } else if (place < 0) {
          place = (ys.end - 1 - ys.begin) * p.kernel_w + xs.end - 1 - xs.begin;
        }
        const int iy = ys.begin + place / p.kernel_w, ix = xs.begin + place % p.kernel_w;
        y[at] = empty ? Dtype(0) : plane[int64_t{iy} * p.width + ix];
        if (index != nullptr) index[at] = static_cast<Index>(place);
      });
}

}  // namespace

template <typename Dtype>
void StochasticPoolForward(const DeviceContext& context, const PoolingWindow& window, uint64_t key,
                           const Dtype* x, Dtype* y, void* index) {
  switch (PoolingIndexBytes(window)) {
    case 1:
      return DrawFromWindows(context, window, key, x, y, static_cast<uint8_t*>(index));
    case 2:
      return DrawFromWindows(context, window, key, x, y, static_cast<uint16_t*>(index));
    default:
      return DrawFromWindows(context, window, key, x, y, static_cast<uint32_t*>(index));
  }
}

template <typename Dtype>
void ExpectedPoolForward(const DeviceContext& context, const PoolingWindow& window, const Dtype* x,
                         Dtype* y) {
  const PoolingWindow p = window;
  ParallelForRows(context, p.planes * p.pooled_height, p.pooled_width,
                  [=] LAYRUB_HOST_DEVICE(int64_t row, int64_t column) {
                    const auto [plane, ys, xs] = WindowAt(p, x, row, column);
                    Dtype sum = FLT_MIN, weighted = 0;
                    for (int iy = ys.begin; iy < ys.end; ++iy) {
                      for (int ix = xs.begin; ix < xs.end; ++ix) {
                        const Dtype value = plane[int64_t{iy} * p.width + ix];
                        sum += value;
                        weighted += value * value;
                      }
                    }
                    y[row * p.pooled_width + column] = weighted / sum;
                  });
}

#define INSTANTIATE(Dtype)                                                                         \
  template void StochasticPoolForward<Dtype>(const DeviceContext&, const PoolingWindow&, uint64_t, \
                                             const Dtype*, Dtype*, void*);                         \
  template void ExpectedPoolForward<Dtype>(const DeviceContext&, const PoolingWindow&,             \
                                           const Dtype*, Dtype*)
INSTANTIATE(float);
INSTANTIATE(double);
#undef INSTANTIATE

}  // namespace kernels
}  // namespace caffe
