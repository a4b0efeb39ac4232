#ifndef CAFFE_KERNELS_DIVIDER_HPP_
#define CAFFE_KERNELS_DIVIDER_HPP_

#include <cstdint>

#include "caffe/kernels/host_device.hpp"

namespace caffe {
namespace kernels {

/// Division of many integers by one, by a multiplication: a GPU has no instruction that divides,
/// and takes as long for one of 64 bits as a loop over elements may take for all else.
class Divider {
 public:
  /// By `divisor`; 0, which nothing is divided by, counts as 1.
  explicit Divider(int64_t divisor) {
    const uint64_t d = divisor > 1 ? divisor : 1;
    while (uint64_t{1} << shift_ < d) ++shift_;
    multiplier_ = static_cast<uint64_t>((Wide{1} << (63 + shift_)) / d) + 1;
  }

  /// n / divisor, for n >= 0. The multiplier, 2^(63 + shift) / divisor rounded up, is too large by
  /// at most one part in 2^63: too little to reach the next integer, as n is less than 2^63.
  LAYRUB_HOST_DEVICE int64_t operator()(int64_t n) const {
    const uint64_t twice = 2 * static_cast<uint64_t>(n);
#ifdef __CUDA_ARCH__
    return static_cast<int64_t>(__umul64hi(twice, multiplier_) >> shift_);
#else
    return static_cast<int64_t>(static_cast<uint64_t>(Wide{twice} * multiplier_ >> 64) >> shift_);
#endif
  }

 private:
  using Wide = unsigned __int128;

  uint64_t multiplier_ = 0;
  int shift_ = 0;
};

}  // namespace kernels
}  // namespace caffe

#endif  // CAFFE_KERNELS_DIVIDER_HPP_
