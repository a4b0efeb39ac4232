#ifndef LAYRUB_DEVICE_ALIGNED_MEMORY_HPP_
#define LAYRUB_DEVICE_ALIGNED_MEMORY_HPP_

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <limits>

#include "layrub/placement/ir/graph.hpp"

namespace layrub {

/// The large pages of x86-64 and of most others.
inline constexpr int64_t kLargePage = int64_t{2} << 20;
/// Memory from this size on lies in large pages, where the system gives them: loops over it miss
/// the translation of addresses less often, and touching it first takes a fault for each large
/// page only. Less memory would hold too much that is never touched.
inline constexpr int64_t kLargePagesFrom = 16 * kLargePage;

/// Aligned(bytes) bytes of RAM at a multiple of kAlignment, to be given to std::free; at least
/// kAlignment, so that every pointer is unique. nullptr when there is not so much or `bytes` is
/// negative. Contents undefined.
inline void* AllocateAligned(int64_t bytes) {
  if (bytes < 0 || bytes > std::numeric_limits<int64_t>::max() - kLargePage) return nullptr;
  if (bytes < kLargePagesFrom)
    return std::aligned_alloc(kAlignment, static_cast<size_t>(Aligned(bytes > 0 ? bytes : 1)));
  const int64_t whole = bytes / kLargePage * kLargePage;
  void* memory = nullptr;
  if (posix_memalign(&memory, kLargePage, static_cast<size_t>(Aligned(bytes))) != 0) return nullptr;
  madvise(memory, static_cast<size_t>(whole), MADV_HUGEPAGE);  // else small ones: no error
  return memory;
}

/// Gives the pages that lie wholly within `bytes` at `memory`, which AllocateAligned gave, back to
/// the system until they are touched again. Their contents are undefined from now on.
inline void DiscardPages(void* memory, int64_t bytes) {
  const auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  const auto begin = reinterpret_cast<uintptr_t>(memory);
  const uintptr_t first = (begin + page - 1) / page * page;
  const uintptr_t last = (begin + static_cast<uintptr_t>(bytes)) / page * page;
  if (first < last) madvise(reinterpret_cast<void*>(first), last - first, MADV_DONTNEED);
}

}  // namespace layrub

#endif  // LAYRUB_DEVICE_ALIGNED_MEMORY_HPP_
