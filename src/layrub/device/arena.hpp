#ifndef LAYRUB_DEVICE_ARENA_HPP_
#define LAYRUB_DEVICE_ARENA_HPP_

#include <cstdint>
#include <vector>

#include "layrub/device/backend.hpp"

namespace layrub {

/// One allocation in a tier of a backend, freed by the destructor. For tests it can be filled with
/// a pattern that is NaN as float and as double and differs from word to word, so that later writes
/// can be detected.
class Arena {
 public:
  /// Throws std::bad_alloc when the backend has not enough memory; what() names the tier and the
  /// flag that helps. If `patterned`, fills the arena with the pattern and allows Restore and
  /// EndOfChanges. Both of them wait until all lanes are idle, and so does this constructor.
  Arena(Backend* backend, Tier tier, int64_t bytes, bool patterned);
  ~Arena();
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  /// Returns the address of a byte. An address in the file tier may only be given to Backend::Copy.
  char* at(int64_t offset) const { return memory_ + offset; }
  int64_t bytes() const { return bytes_; }

  /// Writes the pattern to [begin, end).
  void Restore(int64_t begin, int64_t end);
  /// Returns one more than the highest offset in [begin, end) that no longer holds the pattern, or
  /// `begin` if all of them do.
  int64_t EndOfChanges(int64_t begin, int64_t end) const;

 private:
  Backend* const backend_;
  const Tier tier_;
  const int64_t bytes_;
  char* const memory_;
  mutable std::vector<char> staging_;  ///< for copies to and from the tier; empty unless patterned
};

}  // namespace layrub

#endif  // LAYRUB_DEVICE_ARENA_HPP_
