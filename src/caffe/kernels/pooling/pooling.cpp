#include "caffe/kernels/pooling/pooling.hpp"

#include <limits>
#include <string>

#include "caffe/kernels/library_kernels.hpp"
#include "caffe/kernels/loops.hpp"
#include "caffe/kernels/pooling/pooling_blocks.hpp"
#include "caffe/kernels/pooling/pooling_ranges.hpp"
#include "caffe/kernels/require.hpp"
#include "caffe/kernels/spans.hpp"

namespace caffe {
namespace kernels {
namespace {

/// The largest value of a window and its place in the window, kernel_w * y + x; -1 if the window
/// covers nothing.
template <typename Dtype>
struct Largest {
  Dtype value;
  int place;
};

template <typename Dtype>
LAYRUB_HOST_DEVICE inline Largest<Dtype> LargestOf(const PoolingWindow& p, const Dtype* plane,
                                                   int pool_y, int pool_x, Dtype lowest) {
  const Range ys = Covered(pool_y, p.kernel_h, p.stride_h, p.pad_h, p.height);
  const Range xs = Covered(pool_x, p.kernel_w, p.stride_w, p.pad_w, p.width);
  int best_y = -1, best_x = 0;
  Dtype best = lowest;
  for (int iy = ys.begin; iy < ys.end; ++iy) {
    for (int ix = xs.begin; ix < xs.end; ++ix) {
      const Dtype value = plane[int64_t{iy} * p.width + ix];
      if (best_y < 0 || value > best) {
        best = value;
        best_y = iy;
        best_x = ix;
      }
    }
  }
  if (best_y < 0) return {best, -1};
  const int from_y = pool_y * p.stride_h - p.pad_h, from_x = pool_x * p.stride_w - p.pad_w;
  return {best, (best_y - from_y) * p.kernel_w + (best_x - from_x)};
}

#ifndef __CUDA_ARCH__
/// Number of windows that the CPU processes together, the minimum for which that is worthwhile, and
/// the maximum kernel and stride.
constexpr int kTogether = 64, kFewestTogether = 8, kMostKernel = 16, kMostStride = 2;
inline bool LooksTogether(const PoolingWindow& p) {
  return p.kernel_w <= kMostKernel && p.stride_w <= kMostStride;
}

/// LargestOf `count` adjacent windows, from `pool_x` on, taking one value of all windows at a time.
template <typename Dtype>
inline void LargestOfRow(const PoolingWindow& p, const Dtype* plane, int pool_y, int pool_x,
                         int count, Dtype lowest, Dtype (&best)[kTogether],
                         Place<Dtype> (&places)[kTogether]) {
  const int from_y = pool_y * p.stride_h - p.pad_h, from_x = pool_x * p.stride_w - p.pad_w;
  const Range ys = Covered(pool_y, p.kernel_h, p.stride_h, p.pad_h, p.height);
  // Each window starts with the first value that it covers, which may be NaN.
  const auto begin_with_first = [&](int begin, int end) {
    for (int i = begin; i < end; ++i) {
      const Range xs = Covered(pool_x + i, p.kernel_w, p.stride_w, p.pad_w, p.width);
      const bool empty = ys.begin >= ys.end || xs.begin >= xs.end;
      best[i] = empty ? lowest : plane[int64_t{ys.begin} * p.width + xs.begin];
      places[i] =
          empty ? -1 : (ys.begin - from_y) * p.kernel_w + xs.begin - (from_x + i * p.stride_w);
    }
  };
  Span uncut = InsideImage(from_x, p.stride_w, 0, p.width, 0, count);  // not clipped at the left
  if (ys.begin >= ys.end) uncut = {0, 0};
  begin_with_first(0, uncut.begin);
  for (int i = uncut.begin; i < uncut.end; ++i) {
    best[i] = plane[int64_t{ys.begin} * p.width + from_x + i * p.stride_w];
    places[i] = (ys.begin - from_y) * p.kernel_w;
  }
  begin_with_first(uncut.end, count);
  const int lanes = (count + kLanes - 1) / kLanes * kLanes;
  for (int i = count; i < lanes; ++i) best[i] = lowest, places[i] = -1;

  // The values from from_x on, and those at even and at odd distances from there. Values outside
  // the plane are minus infinity, which is never larger.
  constexpr int kMost = kTogether + kMostKernel;
  Dtype line[kMost * kMostStride], even[kMost], odd[kMost];
  const int columns = lanes + p.kernel_w, length = columns * p.stride_w;
  const int begin = from_x < 0 ? Least(-from_x, length) : 0;
  const int inside = Least(length, p.width - from_x), end = inside > begin ? inside : begin;
  for (int i = 0; i < begin; ++i) line[i] = -std::numeric_limits<Dtype>::infinity();
  for (int i = end; i < length; ++i) line[i] = -std::numeric_limits<Dtype>::infinity();
  for (int iy = ys.begin; iy < ys.end; ++iy) {
    const Dtype* const row = plane + int64_t{iy} * p.width + from_x;
    for (int i = begin; i < end; ++i) line[i] = row[i];
    for (int i = 0; p.stride_w == 2 && i < columns; ++i) {
      even[i] = line[2 * i];
      odd[i] = line[2 * i + 1];
    }
    for (int at = 0; at < p.kernel_w; ++at) {
      const Dtype* const from = p.stride_w == 1 ? line + at : (at % 2 ? odd : even) + at / 2;
      const int place = (iy - from_y) * p.kernel_w + at;
      for (int i = 0; i < lanes; i += kLanes) TakeLarger(from + i, place, best + i, places + i);
    }
  }
}
#endif

template <typename Dtype, typename Index>
void MaxForward(const DeviceContext& context, const PoolingWindow& window, const Dtype* x, Dtype* y,
                Index* index, Dtype* mask) {
  if (window.block > 1) return MaxForwardInBlocks(context, window, x, y, index);
  const PoolingWindow p = window;
  const Dtype lowest = std::numeric_limits<Dtype>::lowest();
  const auto segment = [=] LAYRUB_HOST_DEVICE(int64_t row, int first, int last) {
    const int pool_y = static_cast<int>(row % p.pooled_height);
    const Dtype* const plane = x + row / p.pooled_height * p.height * p.width;
    const auto store = [&](int pool_x, const Largest<Dtype>& largest) {
      const int64_t i = row * p.pooled_width + pool_x;
      const int place = largest.place;
      y[i] = largest.value;
      if (index != nullptr) index[i] = static_cast<Index>(place < 0 ? 0 : place);
      if (mask == nullptr) return;
      const int best_y = pool_y * p.stride_h - p.pad_h + place / p.kernel_w;
      const int best_x = pool_x * p.stride_w - p.pad_w + place % p.kernel_w;
      mask[i] = place < 0 ? Dtype(-1) : static_cast<Dtype>(best_y * p.width + best_x);
    };
    int pool_x = first;
#ifndef __CUDA_ARCH__  // on a GPU each thread has one window
    while (last - pool_x >= kFewestTogether && LooksTogether(p)) {
      const int count = Least(kTogether, last - pool_x);
      Dtype best[kTogether];
      Place<Dtype> places[kTogether];
      LargestOfRow(p, plane, pool_y, pool_x, count, lowest, best, places);
      if (mask != nullptr) {
        for (int i = 0; i < count; ++i) store(pool_x + i, {best[i], static_cast<int>(places[i])});
      } else {
        const int64_t at = row * p.pooled_width + pool_x;
        for (int i = 0; i < count; ++i) y[at + i] = best[i];
        for (int i = 0; index != nullptr && i < count; ++i)
          index[at + i] = static_cast<Index>(places[i] < 0 ? 0 : places[i]);
      }
      pool_x += count;
    }
#endif
    for (; pool_x < last; ++pool_x) store(pool_x, LargestOf(p, plane, pool_y, pool_x, lowest));
  };
  ParallelForSegments(context, p.planes * p.pooled_height, p.pooled_width,
                      p.pooled_width * p.KernelSize(), segment);
}

/// Cost of a row of the plane, in windows times values.
int64_t RowCost(const PoolingWindow& p) { return p.width + int64_t{p.pooled_width} * p.kernel_w; }

// The backward kernels gather: each item sums its own segment of a row of dx, window by window in a
// fixed order.

/// For each window i of `windows`, adds dy[i] to out[i + shift] if the window's maximum is at
/// `place`.
template <typename Dtype, typename Index>
LAYRUB_HOST_DEVICE inline void AddAtPlace(const Span& windows, int place, const Index* index,
                                          const Dtype* dy, int shift, Dtype* out) {
  for (int i = windows.begin; i < windows.end; ++i)
    out[i + shift] += static_cast<int>(index[i]) == place ? dy[i] : Dtype(0);
}

#ifndef __CUDA_ARCH__
/// Maximum number of even, or odd, values of a row that the CPU sums separately.
constexpr int kMostHalf = 512;
#endif

/// Returns one value of dx.
template <typename Dtype, typename Index>
LAYRUB_HOST_DEVICE inline Dtype MaxGradient(const PoolingWindow& p, int64_t plane, int at_y,
                                            int at_x, const Index* index, const Dtype* dy) {
  const Range ys = WindowsOver(at_y, at_y + 1, p.kernel_h, p.stride_h, p.pad_h, p.pooled_height);
  const Range xs = WindowsOver(at_x, at_x + 1, p.kernel_w, p.stride_w, p.pad_w, p.pooled_width);
  Dtype sum = 0;
  for (int pool_y = ys.begin; pool_y < ys.end; ++pool_y) {
    const int first = (at_y + p.pad_h - pool_y * p.stride_h) * p.kernel_w + at_x + p.pad_w;
    const int64_t row = (plane * p.pooled_height + pool_y) * p.pooled_width;
    for (int pool_x = xs.begin; pool_x < xs.end; ++pool_x) {
      const bool here = static_cast<int>(index[row + pool_x]) == first - pool_x * p.stride_w;
      sum += here ? dy[row + pool_x] : Dtype(0);
    }
  }
  return sum;
}

template <typename Dtype, typename Index>
void MaxBackward(const DeviceContext& context, const PoolingWindow& window, const Dtype* dy,
                 const Index* index, Dtype* dx) {
  if (window.block > 1) return MaxBackwardInBlocks(context, window, dy, index, dx);
  const PoolingWindow p = window;
  const auto segment = [=] LAYRUB_HOST_DEVICE(int64_t row, int begin, int end) {
    const int at_y = static_cast<int>(row % p.height);
    Dtype* const out = dx + row * p.width;
    if (end - begin == 1) {
      out[begin] = MaxGradient(p, row / p.height, at_y, begin, index, dy);
      return;
    }
#ifndef __CUDA_ARCH__  // on a GPU each thread has one value
    const Range ys = WindowsOver(at_y, at_y + 1, p.kernel_h, p.stride_h, p.pad_h, p.pooled_height);
    const Range xs = WindowsOver(begin, end, p.kernel_w, p.stride_w, p.pad_w, p.pooled_width);
    Dtype *even = out, *odd = out;
    // With a stride of 2 neighbouring windows contribute to values that are two apart.
    Dtype halves[2][kMostHalf];
    const int half = (p.width + 1) / 2;
    const bool apart = p.stride_w == 2 && end - begin == p.width && half <= kMostHalf;
    if (apart) even = halves[0], odd = halves[1];
    for (int i = 0; apart && i < half; ++i) even[i] = odd[i] = 0;
    for (int x = begin; !apart && x < end; ++x) out[x] = 0;
    for (int pool_y = ys.begin; pool_y < ys.end; ++pool_y) {
      const int first = (at_y + p.pad_h - pool_y * p.stride_h) * p.kernel_w;
      const int64_t pooled_row = (row / p.height * p.pooled_height + pool_y) * p.pooled_width;
      if (p.stride_w == 1 || apart) {  // vectorized: one place of the window at a time, last first
        for (int at = p.kernel_w - 1; at >= 0; --at) {
          const int shift = at - p.pad_w, rest = apart ? shift & 1 : 0;
          AddAtPlace(InsideImage(shift, p.stride_w, begin, end, xs.begin, xs.end), first + at,
                     index + pooled_row, dy + pooled_row, (shift - rest) / p.stride_w,
                     rest == 1 ? odd : even);
        }
        continue;
      }
      for (int pool_x = xs.begin; pool_x < xs.end; ++pool_x) {
        const int64_t column = static_cast<int64_t>(index[pooled_row + pool_x]) - first;
        const int64_t x = pool_x * p.stride_w - p.pad_w + column;
        const bool here = column >= 0 && column < p.kernel_w && x >= begin && x < end;
        if (here) out[x] += dy[pooled_row + pool_x];
      }
    }
    if (!apart) return;
    for (int i = 0; i < p.width / 2; ++i) {
      out[2 * i] = even[i];
      out[2 * i + 1] = odd[i];
    }
    if (p.width % 2 == 1) out[p.width - 1] = even[p.width / 2];
#endif
  };
  ParallelForSegments(context, p.planes * p.height, p.width, RowCost(p), segment);
}

}  // namespace

bool WholeWindows(const PoolingWindow& window) {
  const auto fit = [](int64_t pooled, int64_t kernel, int64_t stride, int64_t pad, int64_t size) {
    return (pooled - 1) * stride + kernel <= size + 2 * pad;
  };
  const PoolingWindow& p = window;
  return fit(p.pooled_height, p.kernel_h, p.stride_h, p.pad_h, p.height) &&
         fit(p.pooled_width, p.kernel_w, p.stride_w, p.pad_w, p.width);
}

int PoolingIndexBytes(const PoolingWindow& window) {
  const int64_t positions = window.KernelSize();
  return positions <= 1 << 8 ? 1 : positions <= 1 << 16 ? 2 : 4;
}

template <typename Dtype>
void MaxPoolForward(const DeviceContext& context, const PoolingWindow& window, const Dtype* x,
                    Dtype* y, void* index, Dtype* mask) {
  switch (PoolingIndexBytes(window)) {
    case 1:
      return MaxForward(context, window, x, y, static_cast<uint8_t*>(index), mask);
    case 2:
      return MaxForward(context, window, x, y, static_cast<uint16_t*>(index), mask);
    default:
      return MaxForward(context, window, x, y, static_cast<uint32_t*>(index), mask);
  }
}

template <typename Dtype>
void MaxPoolBackward(const DeviceContext& context, const PoolingWindow& window, const Dtype* dy,
                     const void* index, Dtype* dx) {
  switch (PoolingIndexBytes(window)) {
    case 1:
      return MaxBackward(context, window, dy, static_cast<const uint8_t*>(index), dx);
    case 2:
      return MaxBackward(context, window, dy, static_cast<const uint16_t*>(index), dx);
    default:
      return MaxBackward(context, window, dy, static_cast<const uint32_t*>(index), dx);
  }
}

template <typename Dtype>
void AveragePoolForward(const DeviceContext& context, const PoolingWindow& window, const Dtype* x,
                        Dtype* y, const AlgorithmRun& chosen) {
  if (chosen.algorithm == kCudnn) {
    Require(LibraryAveragePoolForward(window, x, y), "cuDNN has no such average pooling");
    return;
  }
  if (window.block > 1) return AverageForwardInBlocks(context, window, x, y);
  const PoolingWindow p = window;
  ParallelForRows(context, p.planes * p.pooled_height, p.pooled_width,
                  [=] LAYRUB_HOST_DEVICE(int64_t row, int64_t column) {
                    const int pool_y = static_cast<int>(row % p.pooled_height),
                              pool_x = static_cast<int>(column);
                    const Range ys = Covered(pool_y, p.kernel_h, p.stride_h, p.pad_h, p.height);
                    const Range xs = Covered(pool_x, p.kernel_w, p.stride_w, p.pad_w, p.width);
                    const int divisor = Extent(pool_y, p.kernel_h, p.stride_h, p.pad_h, p.height) *
                                        Extent(pool_x, p.kernel_w, p.stride_w, p.pad_w, p.width);
                    const Dtype* plane = x + row / p.pooled_height * p.height * p.width;
                    Dtype sum = 0;
                    for (int iy = ys.begin; iy < ys.end; ++iy) {
                      for (int ix = xs.begin; ix < xs.end; ++ix)
                        sum += plane[int64_t{iy} * p.width + ix];
                    }
                    y[row * p.pooled_width + column] = sum / divisor;
                  });
}

template <typename Dtype>
void AveragePoolBackward(const DeviceContext& context, const PoolingWindow& window, const Dtype* dy,
                         Dtype* dx, const AlgorithmRun& chosen) {
  if (chosen.algorithm == kCudnn) {
    Require(LibraryAveragePoolBackward(window, dy, dx), "cuDNN has no such average pooling");
    return;
  }
  if (window.block > 1) return AverageBackwardInBlocks(context, window, dy, dx);
  const PoolingWindow p = window;
  const auto segment = [=] LAYRUB_HOST_DEVICE(int64_t row, int begin, int end) {
    const int at_y = static_cast<int>(row % p.height);
    const Range ys = WindowsOver(at_y, at_y + 1, p.kernel_h, p.stride_h, p.pad_h, p.pooled_height);
    const Range xs = WindowsOver(begin, end, p.kernel_w, p.stride_w, p.pad_w, p.pooled_width);
    Dtype* out = dx + row * p.width;
    const bool single = end - begin == 1;  // a GPU thread: sums in a register
    Dtype sum = 0;
    for (int x = begin; x < end; ++x) out[x] = 0;
    for (int pool_y = ys.begin; pool_y < ys.end; ++pool_y) {
      const int extent_y = Extent(pool_y, p.kernel_h, p.stride_h, p.pad_h, p.height);
      const int64_t pooled_row = (row / p.height * p.pooled_height + pool_y) * p.pooled_width;
      for (int pool_x = xs.begin; pool_x < xs.end; ++pool_x) {
        const int divisor = extent_y * Extent(pool_x, p.kernel_w, p.stride_w, p.pad_w, p.width);
        const Dtype share = dy[pooled_row + pool_x] / divisor;
        sum += share;
        if (single) continue;
        const int from = pool_x * p.stride_w - p.pad_w;
        const int last = Least(from + p.kernel_w, end);
        for (int x = from > begin ? from : begin; x < last; ++x) out[x] += share;
      }
    }
    if (single) out[begin] = sum;
  };
  ParallelForSegments(context, p.planes * p.height, p.width, RowCost(p), segment);
}

template <typename Dtype>
std::vector<Algorithm> AveragePoolEngines(const DeviceContext& context, const PoolingWindow& window,
                                          bool backward) {
  if (!WholeWindows(window)) return {};
  const PoolingWindow& p = window;
  const auto size = [](int64_t height, int64_t width) {
    return std::to_string(height) + "x" + std::to_string(width);
  };
  Rivals<Dtype> rivals;
  rivals.what = std::string("average pooling ") + (backward ? "backward " : "forward ") +
                std::to_string(p.planes) + "x" + size(p.height, p.width) + " " +
                size(p.pooled_height, p.pooled_width) + " kernel " + size(p.kernel_h, p.kernel_w) +
                " pad " + size(p.pad_h, p.pad_w) + " stride " + size(p.stride_h, p.stride_w);
  rivals.operands = {p.planes * p.height * p.width, p.planes * p.pooled_height * p.pooled_width};
  rivals.run = [&](const AlgorithmRun& chosen, const std::vector<Dtype*>& operands) {
    Dtype *const plane = operands[0], *const pooled = operands[1];
    if (chosen.algorithm == kCudnn) {
      return backward ? LibraryAveragePoolBackward<Dtype>(window, pooled, plane)
                      : LibraryAveragePoolForward<Dtype>(window, plane, pooled);
    }
    if (backward) {
      AveragePoolBackward<Dtype>(context, window, pooled, plane);
    } else {
      AveragePoolForward<Dtype>(context, window, plane, pooled);
    }
    return true;
  };
  return ChooseRival(context, rivals);
}

#define LAYRUB_INSTANTIATE_POOLING(Dtype)                                                        \
  template void MaxPoolForward(const DeviceContext&, const PoolingWindow&, const Dtype*, Dtype*, \
                               void*, Dtype*);                                                   \
  template void MaxPoolBackward(const DeviceContext&, const PoolingWindow&, const Dtype*,        \
                                const void*, Dtype*);                                            \
  template void AveragePoolForward(const DeviceContext&, const PoolingWindow&, const Dtype*,     \
                                   Dtype*, const AlgorithmRun&);                                 \
  template void AveragePoolBackward(const DeviceContext&, const PoolingWindow&, const Dtype*,    \
                                    Dtype*, const AlgorithmRun&);                                \
  template std::vector<Algorithm> AveragePoolEngines<Dtype>(const DeviceContext&,                \
                                                            const PoolingWindow&, bool)
LAYRUB_INSTANTIATE_POOLING(float);
LAYRUB_INSTANTIATE_POOLING(double);
#undef LAYRUB_INSTANTIATE_POOLING

}  // namespace kernels
}  // namespace caffe
