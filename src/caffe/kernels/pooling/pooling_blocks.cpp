#include "caffe/kernels/pooling/pooling_blocks.hpp"

#include <algorithm>
#include <limits>

#include "caffe/kernels/loops.hpp"
#include "caffe/kernels/pooling/pooling_ranges.hpp"

namespace caffe {
namespace kernels {
namespace {

/// Calls body(lanes, first, y) on the host for each row y of `height` rows of each block of planes.
/// `first` is the number of planes before the block, `cost` the cost of a row of a plane.
template <typename Body>
void ForRowsOfBlocks(const DeviceContext& context, const PoolingWindow& p, int height, int64_t cost,
                     const Body& body) {
  Require(!context.launch, kBlocksOnHostOnly);
  const HostKernel scope(context);
  const auto run = [&](auto lanes) {
    const int64_t rows = p.planes / lanes * height;
    HostFor(rows, rows > 1 && rows * cost * lanes > kGrain, [=](int64_t row) {
      body(lanes, row / height * lanes, static_cast<int>(row % height));
    });
  };
  if (p.block == 8) {
    run(std::integral_constant<int, 8>());
  } else {
    Require(p.block == 16, kBlockSizes);
    run(std::integral_constant<int, 16>());
  }
}

/// A window that covers a value, and the index of its first lane in an array of windows.
struct WindowOver {
  int pool_y, pool_x;
  int64_t from;
};

/// Computes dx. Calls add(lanes, window, at_y, at_x, sum) for each value and each window over it,
/// window by window in memory order. `add` must add the window's contributions to the `lanes` sums,
/// which are in dx.
template <typename Dtype, typename Add>
void GatherInBlocks(const DeviceContext& context, const PoolingWindow& window, Dtype* dx,
                    const Add& add) {
  const PoolingWindow p = window;
  const int64_t cost = p.width + int64_t{p.pooled_width} * p.KernelSize();
  ForRowsOfBlocks(context, p, p.height, cost, [=](auto lanes, int64_t first, int at_y) {
    constexpr int kBlock = decltype(lanes)::value;
    const Range ys = WindowsOver(at_y, at_y + 1, p.kernel_h, p.stride_h, p.pad_h, p.pooled_height);
    Dtype* const row = dx + (first * p.height + int64_t{at_y} * kBlock) * p.width;
    std::fill(row, row + int64_t{p.width} * kBlock, Dtype(0));
    for (int pool_y = ys.begin; pool_y < ys.end; ++pool_y) {
      for (int pool_x = 0; pool_x < p.pooled_width; ++pool_x) {
        const int64_t from = first * p.pooled_height * p.pooled_width +
                             (int64_t{pool_y} * p.pooled_width + pool_x) * kBlock;
        const Range xs = Covered(pool_x, p.kernel_w, p.stride_w, p.pad_w, p.width);
        for (int at_x = xs.begin; at_x < xs.end; ++at_x)
          add(lanes, WindowOver{pool_y, pool_x, from}, at_y, at_x, row + int64_t{at_x} * kBlock);
      }
    }
  });
}

}  // namespace

template <typename Dtype, typename Index>
void MaxForwardInBlocks(const DeviceContext& context, const PoolingWindow& window, const Dtype* x,
                        Dtype* y, Index* index) {
#ifndef __CUDA_ARCH__
  const PoolingWindow p = window;
  ForRowsOfBlocks(
      context, p, p.pooled_height, p.pooled_width * p.KernelSize(),
      [=](auto lanes, int64_t first, int pool_y) {
        constexpr int kBlock = decltype(lanes)::value;
        const Dtype* const planes = x + first * p.height * p.width;
        const Range ys = Covered(pool_y, p.kernel_h, p.stride_h, p.pad_h, p.height);
        int64_t to = (first * p.pooled_height + int64_t{pool_y} * kBlock) * p.pooled_width;
        for (int pool_x = 0; pool_x < p.pooled_width; ++pool_x, to += kBlock) {
          const Range xs = Covered(pool_x, p.kernel_w, p.stride_w, p.pad_w, p.width);
          const bool empty = ys.begin >= ys.end || xs.begin >= xs.end;
          const int from_y = pool_y * p.stride_h - p.pad_h, from_x = pool_x * p.stride_w - p.pad_w;
          const int64_t begin = (int64_t{ys.begin} * p.width + xs.begin) * kBlock;
          const int begin_place = (ys.begin - from_y) * p.kernel_w + xs.begin - from_x;
          for (int lane = 0; lane < kBlock; lane += kLanes) {
            // The window starts with the first value that it covers, which may be NaN.
            Largest<Dtype> largest;
            largest.value = typename Lanes<Dtype>::Vector{} + std::numeric_limits<Dtype>::lowest();
            largest.place = typename Lanes<Place<Dtype>>::Vector{} + (empty ? 0 : begin_place);
            if (!empty) std::memcpy(&largest.value, planes + begin + lane, sizeof largest.value);
            for (int iy = ys.begin; iy < ys.end; ++iy) {
              const Dtype* const row = planes + int64_t{iy} * p.width * kBlock + lane;
              const int place = (iy - from_y) * p.kernel_w - from_x;
              for (int ix = xs.begin; ix < xs.end; ++ix)
                largest.Take(row + int64_t{ix} * kBlock, place + ix);
            }
            std::memcpy(y + to + lane, &largest.value, sizeof largest.value);
            if (index == nullptr) continue;
            const auto places =
                __builtin_convertvector(largest.place, typename Lanes<Index>::Vector);
            std::memcpy(index + to + lane, &places, sizeof places);
          }
        }
      });
#endif
}

template <typename Dtype, typename Index>
void MaxBackwardInBlocks(const DeviceContext& context, const PoolingWindow& window, const Dtype* dy,
                         const Index* index, Dtype* dx) {
#ifndef __CUDA_ARCH__
  const PoolingWindow p = window;
  GatherInBlocks(context, p, dx,
                 [=](auto lanes, const WindowOver& over, int at_y, int at_x, Dtype* sum) {
                   const int place = (at_y + p.pad_h - over.pool_y * p.stride_h) * p.kernel_w +
                                     at_x + p.pad_w - over.pool_x * p.stride_w;
                   for (int lane = 0; lane < lanes; lane += kLanes)
                     AddWhere(index + over.from + lane, place, dy + over.from + lane, sum + lane);
                 });
#endif
}

template <typename Dtype>
void AverageForwardInBlocks(const DeviceContext& context, const PoolingWindow& window,
                            const Dtype* x, Dtype* y) {
  const PoolingWindow p = window;
  ForRowsOfBlocks(
      context, p, p.pooled_height, p.pooled_width * p.KernelSize(),
      [=](auto lanes, int64_t first, int pool_y) {
        constexpr int kBlock = decltype(lanes)::value;
        const Dtype* const planes = x + first * p.height * p.width;
        const Range ys = Covered(pool_y, p.kernel_h, p.stride_h, p.pad_h, p.height);
        const int extent_y = Extent(pool_y, p.kernel_h, p.stride_h, p.pad_h, p.height);
        Dtype* to = y + (first * p.pooled_height + int64_t{pool_y} * kBlock) * p.pooled_width;
        for (int pool_x = 0; pool_x < p.pooled_width; ++pool_x, to += kBlock) {
          const Range xs = Covered(pool_x, p.kernel_w, p.stride_w, p.pad_w, p.width);
          const int divisor = extent_y * Extent(pool_x, p.kernel_w, p.stride_w, p.pad_w, p.width);
          Dtype sum[kBlock] = {};
          for (int iy = ys.begin; iy < ys.end; ++iy) {
            for (int ix = xs.begin; ix < xs.end; ++ix) {
              const Dtype* const from = planes + (int64_t{iy} * p.width + ix) * kBlock;
              for (int lane = 0; lane < kBlock; ++lane) sum[lane] += from[lane];
            }
          }
          for (int lane = 0; lane < kBlock; ++lane) to[lane] = sum[lane] / divisor;
        }
      });
}

template <typename Dtype>
void AverageBackwardInBlocks(const DeviceContext& context, const PoolingWindow& window,
                             const Dtype* dy, Dtype* dx) {
  const PoolingWindow p = window;
  GatherInBlocks(context, p, dx,
                 [=](auto lanes, const WindowOver& over, int /*at_y*/, int /*at_x*/, Dtype* sum) {
                   const int divisor =
                       Extent(over.pool_y, p.kernel_h, p.stride_h, p.pad_h, p.height) *
                       Extent(over.pool_x, p.kernel_w, p.stride_w, p.pad_w, p.width);
                   const Dtype* const from = dy + over.from;
                   for (int lane = 0; lane < lanes; ++lane) sum[lane] += from[lane] / divisor;
                 });
}

#define LAYRUB_INSTANTIATE_MAX(Dtype, Index)                                                  \
  template void MaxForwardInBlocks(const DeviceContext&, const PoolingWindow&, const Dtype*,  \
                                   Dtype*, Index*);                                           \
  template void MaxBackwardInBlocks(const DeviceContext&, const PoolingWindow&, const Dtype*, \
                                    const Index*, Dtype*)
#define LAYRUB_INSTANTIATE(Dtype)                                                                 \
  LAYRUB_INSTANTIATE_MAX(Dtype, uint8_t);                                                         \
  LAYRUB_INSTANTIATE_MAX(Dtype, uint16_t);                                                        \
  LAYRUB_INSTANTIATE_MAX(Dtype, uint32_t);                                                        \
  template void AverageForwardInBlocks(const DeviceContext&, const PoolingWindow&, const Dtype*,  \
                                       Dtype*);                                                   \
  template void AverageBackwardInBlocks(const DeviceContext&, const PoolingWindow&, const Dtype*, \
                                        Dtype*)
LAYRUB_INSTANTIATE(float);
LAYRUB_INSTANTIATE(double);
#undef LAYRUB_INSTANTIATE
#undef LAYRUB_INSTANTIATE_MAX

}  // namespace kernels
}  // namespace caffe
