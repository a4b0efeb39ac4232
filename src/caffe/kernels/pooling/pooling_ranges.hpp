#ifndef CAFFE_KERNELS_POOLING_POOLING_RANGES_HPP_
#define CAFFE_KERNELS_POOLING_POOLING_RANGES_HPP_

// The ranges that windows cover, and vectorized maxima over windows.

#include <cstdint>
#include <cstring>
#include <type_traits>

#include "caffe/kernels/host_device.hpp"

namespace caffe {
namespace kernels {

LAYRUB_HOST_DEVICE inline int Least(int a, int b) { return a < b ? a : b; }

/// Half-open range along one axis.
struct Range {
  int begin;
  int end;
};

/// The windows along one axis that cover a part of [begin, end).
LAYRUB_HOST_DEVICE inline Range WindowsOver(int begin, int end, int kernel, int stride, int pad,
                                            int pooled) {
  return {begin + pad < kernel ? 0 : (begin + pad - kernel) / stride + 1,
          Least((end - 1 + pad) / stride + 1, pooled)};
}

/// The range that window `index` covers along one axis of the plane.
LAYRUB_HOST_DEVICE inline Range Covered(int index, int kernel, int stride, int pad, int size) {
  const int begin = index * stride - pad;
  return {begin < 0 ? 0 : begin, Least(begin + kernel, size)};
}

/// The divisor of average pooling along one axis: the window's size, clipped at the end of the
/// padded plane, at least 1.
LAYRUB_HOST_DEVICE inline int Extent(int index, int kernel, int stride, int pad, int size) {
  const int begin = index * stride - pad;
  const int extent = Least(begin + kernel, size + pad) - begin;
  return extent > 0 ? extent : 1;
}

#ifndef __CUDA_ARCH__
/// Values per vector. Explicit vectors are used because compilers do not vectorize the loop over
/// values and their places, or (GCC 12.2, 16 values) vectorize it wrongly.
constexpr int kLanes = 8;

template <typename T>
struct Lanes {
  typedef T Vector __attribute__((vector_size(kLanes * sizeof(T))));
};
/// The type of a place, as large as a value.
template <typename Dtype>
using Place = std::conditional_t<sizeof(Dtype) == sizeof(int32_t), int32_t, int64_t>;

/// The largest value seen so far and its place, for kLanes lanes.
template <typename Dtype>
struct Largest {
  typename Lanes<Dtype>::Vector value;
  typename Lanes<Place<Dtype>>::Vector place;

  /// In each lane i where from[i] is larger, replaces the value by from[i] and the place by `at`.
  void Take(const Dtype* from, Place<Dtype> at) {
    typename Lanes<Dtype>::Vector next;
    std::memcpy(&next, from, sizeof next);
    const typename Lanes<Place<Dtype>>::Vector larger = next > value;
    value = larger ? next : value;
    place = (larger & at) | (~larger & place);
  }
};
/// Largest::Take for values and places in memory.
template <typename Dtype>
inline void TakeLarger(const Dtype* from, Place<Dtype> place, Dtype* best, Place<Dtype>* places) {
  Largest<Dtype> largest;
  std::memcpy(&largest.value, best, sizeof largest.value);
  std::memcpy(&largest.place, places, sizeof largest.place);
  largest.Take(from, place);
  std::memcpy(best, &largest.value, sizeof largest.value);
  std::memcpy(places, &largest.place, sizeof largest.place);
}

/// Adds from[i] to sum[i] where index[i] is `place`, for kLanes values.
template <typename Dtype, typename Index>
inline void AddWhere(const Index* index, Place<Dtype> place, const Dtype* from, Dtype* sum) {
  typename Lanes<Index>::Vector indices;
  typename Lanes<Dtype>::Vector value, total;
  std::memcpy(&indices, index, sizeof indices);
  std::memcpy(&value, from, sizeof value);
  std::memcpy(&total, sum, sizeof total);
  const auto where = __builtin_convertvector(indices, typename Lanes<Place<Dtype>>::Vector);
  total += where == place ? value : typename Lanes<Dtype>::Vector{};
  std::memcpy(sum, &total, sizeof total);
}
#endif

}  // namespace kernels
}  // namespace caffe

#endif  // CAFFE_KERNELS_POOLING_POOLING_RANGES_HPP_
