#ifndef LAYRUB_DEVICE_ALIGNED_MEMORY_HPP_
#define LAYRUB_DEVICE_ALIGNED_MEMORY_HPP_

#include <cstdint>
#include <cstdlib>
#include <limits>

#include "layrub/graph.hpp"

namespace layrub {

/// Aligned(bytes) bytes of RAM at a multiple of kAlignment, to be given to std::free; at least
/// kAlignment, so that every pointer is unique. nullptr when there is not so much or `bytes` is
/// negative. Contents undefined.
inline void* AllocateAligned(int64_t bytes) {
  if (bytes < 0 || bytes > std::numeric_limits<int64_t>::max() - kAlignment) return nullptr;
  return std::aligned_alloc(kAlignment, static_cast<size_t>(Aligned(bytes > 0 ? bytes : 1)));
}

}  // namespace layrub

#endif  // LAYRUB_DEVICE_ALIGNED_MEMORY_HPP_
