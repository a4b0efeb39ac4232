#ifndef CAFFE_KERNELS_RANDOM_BITS_HPP_
#define CAFFE_KERNELS_RANDOM_BITS_HPP_

#include <cstdint>

#include "caffe/kernels/parallel.hpp"

namespace caffe {
namespace kernels {

/// Number `index` of the stream of random numbers that begins at `key`: a pure function, so that
/// any thread of any device computes any number of it, in any order and as often as it likes.
/// SplitMix64: G. Steele, D. Lea and C. Flood, Fast Splittable Pseudorandom Number Generators,
/// 2014, figure 17 (variant 13 of the mixing function).
LAYRUB_HOST_DEVICE inline uint64_t RandomBits(uint64_t key, uint64_t index) {
  uint64_t z = key + (index + 1) * 0x9E3779B97F4A7C15u;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return z ^ (z >> 31);
}

}  // namespace kernels
}  // namespace caffe

#endif  // CAFFE_KERNELS_RANDOM_BITS_HPP_
