#ifndef CAFFE_DATA_DRAWS_HPP_
#define CAFFE_DATA_DRAWS_HPP_

#include "caffe/util/rng.hpp"

namespace caffe {

// Random numbers for changes of images, from one generator and in a known order.

/// Evenly from [from, to).
inline double UniformDraw(rng_t* random, double from, double to) {
  return from + (to - from) * static_cast<double>((*random)()) / 4294967296.0;
}

/// True by this chance; one of 0 or 1 draws nothing.
inline bool DrawnByChance(rng_t* random, double chance) {
  return chance > 0 && (chance >= 1 || UniformDraw(random, 0, 1) < chance);
}

/// One of 0 .. n - 1.
inline int IndexDraw(rng_t* random, int n) { return static_cast<int>((*random)() % n); }

}  // namespace caffe

#endif  // CAFFE_DATA_DRAWS_HPP_
