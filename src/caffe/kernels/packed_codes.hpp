#ifndef CAFFE_KERNELS_PACKED_CODES_HPP_
#define CAFFE_KERNELS_PACKED_CODES_HPP_

// Codes of a few bits, one for each value of an array, side by side in bytes: what a backward has
// to know where the derivative takes few values. The lowest bits of a byte are its first code;
// unused bits are zero.

#include <cstdint>

namespace caffe {
namespace kernels {

/// Bytes of n codes of `bits` bits each; `bits` divides 8.
constexpr int64_t PackedBytes(int64_t n, int bits) { return (n + 8 / bits - 1) / (8 / bits); }

}  // namespace kernels
}  // namespace caffe

#endif  // CAFFE_KERNELS_PACKED_CODES_HPP_
