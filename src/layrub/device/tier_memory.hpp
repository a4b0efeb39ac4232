#ifndef LAYRUB_DEVICE_TIER_MEMORY_HPP_
#define LAYRUB_DEVICE_TIER_MEMORY_HPP_

#include <cstdint>
#include <memory>

namespace layrub {

/// One tier of a backend's memory. An address that it gives stands for a byte of the tier, so that
/// addresses can be computed with; only Copy may touch the bytes of a device or a file. Allocate
/// and Free may be called by one thread at a time, Copy by any, also meanwhile.
class TierMemory {
 public:
  virtual ~TierMemory() = default;

  /// Aligned(bytes) bytes at a multiple of kAlignment, a unique address also for none; nullptr when
  /// there are not so many. Contents undefined.
  virtual void* Allocate(int64_t bytes) = 0;
  /// Takes back what Allocate gave.
  virtual void Free(void* memory) = 0;
  /// Copies between the tier and memory, or from memory to memory: each address is either.
  virtual void Copy(void* to, const void* from, int64_t bytes) = 0;
};

}  // namespace layrub

#endif  // LAYRUB_DEVICE_TIER_MEMORY_HPP_
