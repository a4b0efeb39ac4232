#ifndef CAFFE_DATA_DRAWS_HPP_
#define CAFFE_DATA_DRAWS_HPP_

#include "caffe/util/rng.hpp"

namespace caffe {

// Random numbers for image transformations, from one generator and in a fixed order.

/// Draws uniformly from [from, to).
inline double DrawUniform(rng_t* random, double from, double to) {
  return from + (to - from) * static_cast<double>((*random)()) / 4294967296.0;
}

/// Returns true with probability `chance`. Probabilities of 0 and 1 draw no number.
inline bool DrawBool(rng_t* random, double chance) {
  return chance > 0 && (chance >= 1 || DrawUniform(random, 0, 1) < chance);
}

/// Draws one of 0 .. n - 1.
inline int DrawIndex(rng_t* random, int n) { return static_cast<int>((*random)() % n); }

}  // namespace caffe

#endif  // CAFFE_DATA_DRAWS_HPP_
