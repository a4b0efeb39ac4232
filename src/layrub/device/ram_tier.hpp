#ifndef LAYRUB_DEVICE_RAM_TIER_HPP_
#define LAYRUB_DEVICE_RAM_TIER_HPP_

#include <cstring>

#include "layrub/device/aligned_memory.hpp"
#include "layrub/device/tier_memory.hpp"

namespace layrub {

/// RAM of the process.
class RamTier final : public TierMemory {
 public:
  void* Allocate(int64_t bytes) override { return AllocateAligned(bytes); }
  void Free(void* memory) override { std::free(memory); }
  void Copy(void* to, const void* from, int64_t bytes) override {
    std::memcpy(to, from, static_cast<size_t>(bytes));
  }
};

}  // namespace layrub

#endif  // LAYRUB_DEVICE_RAM_TIER_HPP_
