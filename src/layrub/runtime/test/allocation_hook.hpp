#ifndef LAYRUB_RUNTIME_TEST_ALLOCATION_HOOK_HPP_
#define LAYRUB_RUNTIME_TEST_ALLOCATION_HOOK_HPP_

#include <cstddef>
#include <cstdint>

namespace layrub::testing {

/// False under a sanitizer, which has an allocator of its own: then nothing is counted.
bool CountsAllocations();

struct Allocations {
  int64_t count = 0;   ///< calls
  size_t largest = 0;  ///< bytes of the largest one
};

/// From here on every malloc, calloc, realloc and aligned allocation of the process is counted, by
/// whichever thread and library (operator new calls malloc).
void StartCounting();
Allocations StopCounting();

}  // namespace layrub::testing

#endif  // LAYRUB_RUNTIME_TEST_ALLOCATION_HOOK_HPP_
