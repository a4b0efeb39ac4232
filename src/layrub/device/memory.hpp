#ifndef LAYRUB_DEVICE_MEMORY_HPP_
#define LAYRUB_DEVICE_MEMORY_HPP_

#include <cstdint>

#include "layrub/device/arena.hpp"
#include "layrub/device/transient.hpp"

namespace layrub {

/// The bytes of one tier of a plan: [0, own) in an arena of its own, the rest in memory that may be
/// shared. An allocated range lies wholly in one of the two parts.
class Memory {
 public:
  /// `rest` may be null if own == bytes; otherwise it must have been joined with bytes - own.
  /// Throws and fills as Arena does.
  Memory(Backend* backend, Tier tier, int64_t own, int64_t bytes, bool patterned,
         TransientMemory* rest);

  char* at(int64_t offset) const;
  int64_t bytes() const { return bytes_; }
  bool Contains(int64_t begin, int64_t size) const;

  /// As in Arena. [begin, end) may span both parts.
  void Restore(int64_t begin, int64_t end);
  int64_t EndOfChanges(int64_t begin, int64_t end) const;

 private:
  Arena own_;
  TransientMemory* const rest_;
  const int64_t bytes_;
};

}  // namespace layrub

#endif  // LAYRUB_DEVICE_MEMORY_HPP_
