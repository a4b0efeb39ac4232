#include "layrub/runtime/test/allocation_hook.hpp"

#include <atomic>
#include <cerrno>
#include <cstdlib>

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
#define LAYRUB_OWN_ALLOCATOR 0
#else
#define LAYRUB_OWN_ALLOCATOR 1
#endif

namespace layrub::testing {
namespace {

std::atomic<bool> counting{false};
std::atomic<int64_t> count{0};
std::atomic<size_t> largest{0};

#if LAYRUB_OWN_ALLOCATOR
void Note(size_t bytes) {
  if (!counting.load(std::memory_order_relaxed)) return;
  count.fetch_add(1);
  size_t seen = largest.load();
  while (bytes > seen && !largest.compare_exchange_weak(seen, bytes)) {
  }
}
#endif

}  // namespace

bool CountsAllocations() { return LAYRUB_OWN_ALLOCATOR != 0; }

void StartCounting() {
  count = 0;
  largest = 0;
  counting = true;
}

Allocations StopCounting() {
  counting = false;
  return {count, largest};
}

}  // namespace layrub::testing

#if LAYRUB_OWN_ALLOCATOR
// The C library's allocator under its internal names. The definitions below replace the public
// ones.
extern "C" {

void* __libc_malloc(size_t bytes);
void* __libc_calloc(size_t count, size_t bytes);
void* __libc_realloc(void* memory, size_t bytes);
void* __libc_memalign(size_t alignment, size_t bytes);

void* malloc(size_t bytes) {
  layrub::testing::Note(bytes);
  return __libc_malloc(bytes);
}

void* calloc(size_t count, size_t bytes) {
  layrub::testing::Note(count * bytes);
  return __libc_calloc(count, bytes);
}

void* realloc(void* memory, size_t bytes) {
  layrub::testing::Note(bytes);
  return __libc_realloc(memory, bytes);
}

void* memalign(size_t alignment, size_t bytes) {
  layrub::testing::Note(bytes);
  return __libc_memalign(alignment, bytes);
}

void* aligned_alloc(size_t alignment, size_t bytes) { return memalign(alignment, bytes); }

int posix_memalign(void** result, size_t alignment, size_t bytes) {
  *result = memalign(alignment, bytes);
  return *result == nullptr ? ENOMEM : 0;
}

}  // extern "C"
#endif
