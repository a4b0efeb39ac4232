#ifndef CAFFE_KERNELS_INTERLEAVED_SUMS_HPP_
#define CAFFE_KERNELS_INTERLEAVED_SUMS_HPP_

#include "caffe/kernels/host_device.hpp"

namespace caffe {
namespace kernels {

/// Several sums computed in one pass.
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

/// kLanes sums, each kept as eight interleaved partial sums: faster and more accurate than one
/// running sum. The lanes are adjacent in memory, so that additions are vectorized.
template <typename T, int kLanes = 1>
class InterleavedSums {
 public:
  void Add(int place, int lane, const T& value) { parts_[place][lane] += value; }
  void Add(int place, const T& value) { Add(place, 0, value); }
  T Total(int lane = 0) const {
    T parts[8];
    for (int place = 0; place < 8; ++place) parts[place] = parts_[place][lane];
    return SumOfLanes(parts);
  }

 private:
  T parts_[8][kLanes] = {};
};
template <typename Dtype, int kSums, int kLanes>
class InterleavedSums<Sums<Dtype, kSums>, kLanes> {
 public:
  void Add(int place, int lane, const Sums<Dtype, kSums>& value) {
    for (int k = 0; k < kSums; ++k) parts_[k][place][lane] += value.values[k];
  }
  void Add(int place, const Sums<Dtype, kSums>& value) { Add(place, 0, value); }
  Sums<Dtype, kSums> Total(int lane = 0) const {
    Sums<Dtype, kSums> total;
    for (int k = 0; k < kSums; ++k) {
      Dtype parts[8];
      for (int place = 0; place < 8; ++place) parts[place] = parts_[k][place][lane];
      total.values[k] = SumOfLanes(parts);
    }
    return total;
  }

 private:
  Dtype parts_[kSums][8][kLanes] = {};
};

}  // namespace kernels
}  // namespace caffe

#endif  // CAFFE_KERNELS_INTERLEAVED_SUMS_HPP_
