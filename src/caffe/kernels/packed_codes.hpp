#ifndef CAFFE_KERNELS_PACKED_CODES_HPP_
#define CAFFE_KERNELS_PACKED_CODES_HPP_

// Codes of a few bits, one for each value of an array, packed into bytes. A backward pass reads
// them where the derivative takes only a few values. The lowest bits of a byte hold its first code;
// unused bits are zero.

#include <cstdint>

namespace caffe {
namespace kernels {

/// Bytes of n codes of `bits` bits each; `bits` must divide 8.
constexpr int64_t PackedBytes(int64_t n, int bits) { return (n + 8 / bits - 1) / (8 / bits); }

}  // namespace kernels
}  // namespace caffe

#endif  // CAFFE_KERNELS_PACKED_CODES_HPP_
