#ifndef CAFFE_KERNELS_RANDOM_BITS_HPP_
#define CAFFE_KERNELS_RANDOM_BITS_HPP_

#include <cstdint>

#include "caffe/kernels/parallel.hpp"

namespace caffe {
namespace kernels {

/// Returns number `index` of the random stream that starts at `key`. A pure function: any thread of
/// any device can compute any number, in any order, repeatedly. SplitMix64: G. Steele, D. Lea and
/// C. Flood, Fast Splittable Pseudorandom Number Generators, 2014, figure 17 (variant 13 of the
/// mixing function).
LAYRUB_HOST_DEVICE inline uint64_t RandomBits(uint64_t key, uint64_t index) {
  uint64_t z = key + (index + 1) * 0x9E3779B97F4A7C15u;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return z ^ (z >> 31);
}

}  // namespace kernels
}  // namespace caffe

#endif  // CAFFE_KERNELS_RANDOM_BITS_HPP_
