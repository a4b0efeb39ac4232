#include "caffe/kernels/pooling/region_pooling.hpp"

#include <cmath>
#include <limits>

#include "caffe/kernels/index_of.hpp"
#include "caffe/kernels/loops.hpp"

namespace caffe {
namespace kernels {
namespace {

inline constexpr int kRegionValues = 5;

/// Places [begin, end) of one axis.
struct Places {
  int64_t begin, end;
};

LAYRUB_HOST_DEVICE inline Places Clipped(int64_t begin, int64_t end, int64_t size) {
  return {begin > 0 ? begin : 0, end < size ? end : size};
}

/// Converts `value`, a whole number or NaN, to an integer, clamped to a range that exceeds every
/// map.
template <typename Dtype>
LAYRUB_HOST_DEVICE int64_t Whole(Dtype value) {
  const Dtype limit = 1 << 30;
  if (!(value > -limit)) return -(int64_t{1} << 30);
  return static_cast<int64_t>(value < limit ? value : limit);
}

/// A region along one axis, in whole places.
struct Stretch {
  int64_t start, size;
};

template <typename Dtype>
LAYRUB_HOST_DEVICE Stretch StretchOf(Dtype first, Dtype last, Dtype scale) {
  const int64_t start = Whole(std::round(first * scale)), end = Whole(std::round(last * scale));
  return {start, end > start ? end - start + 1 : 1};
}

/// Bin `p` of `pooled` of a stretch, on a map of `size` places.
LAYRUB_HOST_DEVICE inline Places BinOf(const Stretch& s, int64_t p, int64_t pooled, int64_t size) {
  return Clipped(s.start + p * s.size / pooled, s.start + ((p + 1) * s.size + pooled - 1) / pooled,
                 size);
}

/// The bins of a stretch that contain any of the places [begin, end).
LAYRUB_HOST_DEVICE inline Places BinsOver(const Stretch& s, int64_t begin, int64_t end,
                                          int64_t pooled) {
  const Places inside = Clipped(begin - s.start, end - s.start, s.size);
  if (inside.begin >= inside.end) return {0, 0};
  return {inside.begin * pooled / s.size, (inside.end * pooled + s.size - 1) / s.size};
}

/// Bin `p` of `pooled` of a region that extends from round(first) * scale to (round(last) + 1) *
/// scale, on a map of `size` places.
template <typename Dtype>
LAYRUB_HOST_DEVICE Places PartOf(Dtype first, Dtype last, Dtype scale, int p, int pooled,
                                 int64_t size) {
  const Dtype start = std::round(first) * scale, end = (std::round(last) + 1) * scale;
  const Dtype least = Dtype(0.1);
  const Dtype bin = (end - start > least ? end - start : least) / pooled;
  return Clipped(Whole(std::floor(p * bin + start)), Whole(std::ceil((p + 1) * bin + start)), size);
}

}  // namespace

template <typename Dtype>
void MaxPoolRegions(const DeviceContext& context, const RegionPooling<Dtype>& pooling,
                    const Dtype* x, const Dtype* regions, Dtype* y, int32_t* index) {
  const RegionPooling<Dtype> p = pooling;
  const Dtype nowhere = std::numeric_limits<Dtype>::quiet_NaN();
  const int64_t bins = int64_t{p.pooled_h} * p.pooled_w;
  ParallelForRows(
      context, p.regions * p.channels, bins, [=] LAYRUB_HOST_DEVICE(int64_t row, int64_t bin) {
        const Dtype* region = regions + row / p.channels * kRegionValues;
        const int64_t item = IndexOf(region[0], p.items);
        int64_t best_at = -1;
        Dtype best = 0;
        if (item >= 0) {
          const Dtype* plane = x + (item * p.channels + row % p.channels) * p.height * p.width;
          const Places ys = BinOf(StretchOf(region[2], region[4], p.scale), bin / p.pooled_w,
                                  p.pooled_h, p.height);
          const Places xs = BinOf(StretchOf(region[1], region[3], p.scale), bin % p.pooled_w,
                                  p.pooled_w, p.width);
          for (int64_t i = ys.begin; i < ys.end; ++i) {
            for (int64_t j = xs.begin; j < xs.end; ++j) {
              const Dtype value = plane[i * p.width + j];
              if (best_at >= 0 && !(value > best)) continue;
              best = value;
              best_at = i * p.width + j;
            }
          }
        }
        y[row * bins + bin] = item < 0 ? nowhere : best;
        if (index != nullptr) index[row * bins + bin] = static_cast<int32_t>(best_at);
      });
}

// The backward kernels gather: each item sums its own segment of a row of dx, region by region and
// bin by bin in a fixed order.

template <typename Dtype>
void MaxPoolRegionsBackward(const DeviceContext& context, const RegionPooling<Dtype>& pooling,
                            const Dtype* dy, const Dtype* regions, const int32_t* index,
                            Dtype* dx) {
  const RegionPooling<Dtype> p = pooling;
  const auto segment = [=] LAYRUB_HOST_DEVICE(int64_t row, int begin, int end) {
    const int64_t plane = row / p.height, at = row % p.height;
    Dtype* const out = dx + row * p.width;
    for (int j = begin; j < end; ++j) out[j] = 0;
    for (int64_t r = 0; r < p.regions; ++r) {
      const Dtype* region = regions + r * kRegionValues;
      if (IndexOf(region[0], p.items) != plane / p.channels) continue;
      const Places rows =
          BinsOver(StretchOf(region[2], region[4], p.scale), at, at + 1, p.pooled_h);
      const Places columns =
          BinsOver(StretchOf(region[1], region[3], p.scale), begin, end, p.pooled_w);
      const int64_t first = (r * p.channels + plane % p.channels) * p.pooled_h * p.pooled_w;
      for (int64_t i = rows.begin; i < rows.end; ++i) {
        for (int64_t j = columns.begin; j < columns.end; ++j) {
          const int64_t bin = first + i * p.pooled_w + j;
          const int64_t column = index[bin] - at * p.width;
          if (index[bin] >= 0 && column >= begin && column < end) out[column] += dy[bin];
        }
      }
    }
  };
  ParallelForSegments(context, int64_t{p.items} * p.channels * p.height, p.width,
                      p.width + p.regions * p.pooled_w, segment);
}

template <typename Dtype>
void AveragePoolRegionParts(const DeviceContext& context, const RegionPooling<Dtype>& pooling,
                            const Dtype* x, const Dtype* regions, Dtype* y) {
  const RegionPooling<Dtype> p = pooling;
  const Dtype nowhere = std::numeric_limits<Dtype>::quiet_NaN();
  const int64_t bins = int64_t{p.pooled_h} * p.pooled_w;
  ParallelForRows(
      context, p.regions * p.outputs, bins, [=] LAYRUB_HOST_DEVICE(int64_t row, int64_t bin) {
        const Dtype* region = regions + row / p.outputs * kRegionValues;
        const int64_t item = IndexOf(region[0], p.items);
        Dtype mean = nowhere;
        if (item >= 0) {
          const int64_t channel = row % p.outputs * bins + bin;
          const Dtype* plane = x + (item * p.channels + channel) * p.height * p.width;
          const Places ys = PartOf(region[2], region[4], p.scale,
                                   static_cast<int>(bin / p.pooled_w), p.pooled_h, p.height);
          const Places xs = PartOf(region[1], region[3], p.scale,
                                   static_cast<int>(bin % p.pooled_w), p.pooled_w, p.width);
          Dtype sum = 0;
          for (int64_t i = ys.begin; i < ys.end; ++i) {
            for (int64_t j = xs.begin; j < xs.end; ++j) sum += plane[i * p.width + j];
          }
          const bool empty = ys.begin >= ys.end || xs.begin >= xs.end;
          mean = empty ? Dtype(0) : sum / ((ys.end - ys.begin) * (xs.end - xs.begin));
        }
        y[row * bins + bin] = mean;
      });
}

template <typename Dtype>
void AveragePoolRegionPartsBackward(const DeviceContext& context,
                                    const RegionPooling<Dtype>& pooling, const Dtype* dy,
                                    const Dtype* regions, Dtype* dx) {
  const RegionPooling<Dtype> p = pooling;
  const int64_t bins = int64_t{p.pooled_h} * p.pooled_w;
  const auto segment = [=] LAYRUB_HOST_DEVICE(int64_t row, int begin, int end) {
    const int64_t plane = row / p.height, at = row % p.height;
    const int64_t channel = plane % p.channels, bin = channel % bins;
    Dtype* const out = dx + row * p.width;
    for (int j = begin; j < end; ++j) out[j] = 0;
    for (int64_t r = 0; r < p.regions; ++r) {
      const Dtype* region = regions + r * kRegionValues;
      if (IndexOf(region[0], p.items) != plane / p.channels) continue;
      const Places ys = PartOf(region[2], region[4], p.scale, static_cast<int>(bin / p.pooled_w),
                               p.pooled_h, p.height);
      if (at < ys.begin || at >= ys.end) continue;
      const Places xs = PartOf(region[1], region[3], p.scale, static_cast<int>(bin % p.pooled_w),
                               p.pooled_w, p.width);
      const Dtype share = dy[(r * p.outputs + channel / bins) * bins + bin] /
                          ((ys.end - ys.begin) * (xs.end - xs.begin));
      const int64_t last = xs.end < end ? xs.end : end;
      for (int64_t j = xs.begin > begin ? xs.begin : begin; j < last; ++j) out[j] += share;
    }
  };
  ParallelForSegments(context, int64_t{p.items} * p.channels * p.height, p.width,
                      p.width + p.regions, segment);
}

#define INSTANTIATE(Dtype)                                                                        \
  template void MaxPoolRegions(const DeviceContext&, const RegionPooling<Dtype>&, const Dtype*,   \
                               const Dtype*, Dtype*, int32_t*);                                   \
  template void MaxPoolRegionsBackward(const DeviceContext&, const RegionPooling<Dtype>&,         \
                                       const Dtype*, const Dtype*, const int32_t*, Dtype*);       \
  template void AveragePoolRegionParts(const DeviceContext&, const RegionPooling<Dtype>&,         \
                                       const Dtype*, const Dtype*, Dtype*);                       \
  template void AveragePoolRegionPartsBackward(const DeviceContext&, const RegionPooling<Dtype>&, \
                                               const Dtype*, const Dtype*, Dtype*)
INSTANTIATE(float);
INSTANTIATE(double);
#undef INSTANTIATE

}  // namespace kernels
}  // namespace caffe
