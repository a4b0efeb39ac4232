#ifndef LAYRUB_RUNTIME_TEST_ALLOCATION_HOOK_HPP_
#define LAYRUB_RUNTIME_TEST_ALLOCATION_HOOK_HPP_

#include <cstddef>
#include <cstdint>

namespace layrub::testing {

/// Returns false under a sanitizer. It has its own allocator, so nothing is counted.
bool CountsAllocations();

struct Allocations {
  int64_t count = 0;   ///< number of calls
  size_t largest = 0;  ///< bytes of the largest one
};

/// Counts every malloc, calloc, realloc and aligned allocation of the process from now on, in all
/// threads and libraries (operator new calls malloc).
void StartCounting();
Allocations StopCounting();

}  // namespace layrub::testing

#endif  // LAYRUB_RUNTIME_TEST_ALLOCATION_HOOK_HPP_
