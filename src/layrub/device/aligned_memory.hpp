#ifndef LAYRUB_DEVICE_ALIGNED_MEMORY_HPP_
#define LAYRUB_DEVICE_ALIGNED_MEMORY_HPP_

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <limits>

#include "layrub/placement/ir/graph.hpp"

namespace layrub {

/// Bytes of a large page on x86-64 and most other processors.
inline constexpr int64_t kLargePage = int64_t{2} << 20;
/// Allocations of at least this many bytes ask the system for large pages: loops over them have
/// fewer TLB misses, and the first touch takes one page fault for each large page. Smaller
/// allocations would waste too much memory that is never touched.
inline constexpr int64_t kLargePagesFrom = 16 * kLargePage;

/// Returns Aligned(bytes) bytes of RAM at a multiple of kAlignment, or kAlignment bytes for none,
/// so that every pointer is unique. Release it with std::free. Contents undefined. Returns nullptr
/// when memory is short or `bytes` is negative.
inline void* AllocateAligned(int64_t bytes) {
  if (bytes < 0 || bytes > std::numeric_limits<int64_t>::max() - kLargePage) return nullptr;
  if (bytes < kLargePagesFrom)
    return std::aligned_alloc(kAlignment, static_cast<size_t>(Aligned(bytes > 0 ? bytes : 1)));
  const int64_t whole = bytes / kLargePage * kLargePage;
  void* memory = nullptr;
  if (posix_memalign(&memory, kLargePage, static_cast<size_t>(Aligned(bytes))) != 0) return nullptr;
  madvise(memory, static_cast<size_t>(whole), MADV_HUGEPAGE);  // if refused, pages stay small
  return memory;
}

/// Gives the pages that lie wholly within [memory, memory + bytes) back to the system until they
/// are touched again. `memory` must come from AllocateAligned. The contents of the pages are
/// undefined afterwards.
inline void DiscardPages(void* memory, int64_t bytes) {
  const auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  const auto begin = reinterpret_cast<uintptr_t>(memory);
  const uintptr_t first = (begin + page - 1) / page * page;
  const uintptr_t last = (begin + static_cast<uintptr_t>(bytes)) / page * page;
  if (first < last) madvise(reinterpret_cast<void*>(first), last - first, MADV_DONTNEED);
}

}  // namespace layrub

#endif  // LAYRUB_DEVICE_ALIGNED_MEMORY_HPP_
