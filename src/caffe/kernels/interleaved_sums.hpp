#ifndef CAFFE_KERNELS_INTERLEAVED_SUMS_HPP_
#define CAFFE_KERNELS_INTERLEAVED_SUMS_HPP_

#include "caffe/kernels/host_device.hpp"

namespace caffe {
namespace kernels {

/// Some sums that are made in one pass.
template <typename Dtype, int kSums>
struct Sums {
  Dtype values[kSums];
  LAYRUB_HOST_DEVICE Sums& operator+=(const Sums& other) {
    for (int k = 0; k < kSums; ++k) values[k] += other.values[k];
    return *this;
  }
  LAYRUB_HOST_DEVICE Sums operator+(const Sums& other) const {
    Sums both = *this;
    return both += other;
  }
};

template <typename T>
T SumOfLanes(const T (&lanes)[8]) {
  return ((lanes[0] + lanes[1]) + (lanes[2] + lanes[3])) +
         ((lanes[4] + lanes[5]) + (lanes[6] + lanes[7]));
}

/// Eight interleaved partial sums: fast, and more accurate than one.
template <typename T>
class InterleavedSums {
 public:
  void Add(int lane, const T& value) { lanes_[lane] += value; }
  T Total() const { return SumOfLanes(lanes_); }

 private:
  T lanes_[8] = {};
};
/// The lanes of each sum side by side, as vectors have them.
template <typename Dtype, int kSums>
class InterleavedSums<Sums<Dtype, kSums>> {
 public:
  void Add(int lane, const Sums<Dtype, kSums>& value) {
    for (int k = 0; k < kSums; ++k) lanes_[k][lane] += value.values[k];
  }
  Sums<Dtype, kSums> Total() const {
    Sums<Dtype, kSums> total;
    for (int k = 0; k < kSums; ++k) total.values[k] = SumOfLanes(lanes_[k]);
    return total;
  }

 private:
  Dtype lanes_[kSums][8] = {};
};

}  // namespace kernels
}  // namespace caffe

#endif  // CAFFE_KERNELS_INTERLEAVED_SUMS_HPP_
