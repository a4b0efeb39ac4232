#ifndef LAYRUB_DEVICE_TIER_MEMORY_HPP_
#define LAYRUB_DEVICE_TIER_MEMORY_HPP_

#include <cstdint>
#include <memory>

namespace layrub {

/// One tier of a backend's memory. Each address stands for a byte of the tier, so address
/// arithmetic works, but only Copy may access the bytes of a device or a file. One thread at a time
/// may call Allocate and Free; any thread may call Copy at any time.
class TierMemory {
 public:
  virtual ~TierMemory() = default;

  /// Returns Aligned(bytes) bytes at a multiple of kAlignment, a unique address even for 0 bytes.
  /// Returns nullptr when there is not enough memory. Contents undefined.
  virtual void* Allocate(int64_t bytes) = 0;
  /// Frees memory from Allocate.
  virtual void Free(void* memory) = 0;
  /// Copies `bytes`. Each of the two addresses may be in the tier or in ordinary memory.
  virtual void Copy(void* to, const void* from, int64_t bytes) = 0;
};

}  // namespace layrub

#endif  // LAYRUB_DEVICE_TIER_MEMORY_HPP_
