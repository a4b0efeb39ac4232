#ifndef CAFFE_KERNELS_DIVIDER_HPP_
#define CAFFE_KERNELS_DIVIDER_HPP_

#include <cstdint>

#include "caffe/kernels/host_device.hpp"

namespace caffe {
namespace kernels {

/// Divides many integers by the same divisor, with a multiplication. A GPU has no division
/// instruction; one 64-bit division can take as long as the rest of an elementwise loop body.
class Divider {
 public:
  /// A `divisor` of 0 counts as 1 (for empty loops, which divide nothing).
  explicit Divider(int64_t divisor) {
    const uint64_t d = divisor > 1 ? divisor : 1;
    while (uint64_t{1} << shift_ < d) ++shift_;
    multiplier_ = static_cast<uint64_t>((Wide{1} << (63 + shift_)) / d) + 1;
  }

  /// Returns n / divisor, for n >= 0. The multiplier is 2^(63 + shift) / divisor, rounded up. Its
  /// relative error is at most 2^-63, which is too little to reach the next integer because n <
  /// 2^63.
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
