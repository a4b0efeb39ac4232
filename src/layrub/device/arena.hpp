#ifndef LAYRUB_DEVICE_ARENA_HPP_
#define LAYRUB_DEVICE_ARENA_HPP_

#include <cstdint>
#include <vector>

#include "layrub/device/backend.hpp"

namespace layrub {

/// One allocation of a backend's tier, given back at the end. For tests it can be filled with a
/// pattern that is NaN as float and as double and differs from word to word, so that whatever was
/// written since shows.
class Arena {
 public:
  /// Throws std::bad_alloc when the backend has not enough; what() says of what, and which flag
  /// helps. `patterned`: filled with the pattern,
  /// and Restore and EndOfChanges may be called; both of them, and the constructor then, wait until
  /// all lanes are idle.
  Arena(Backend* backend, Tier tier, int64_t bytes, bool patterned);
  ~Arena();
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  /// An address; of the file, one for Backend::Copy only.
  char* at(int64_t offset) const { return memory_ + offset; }
  int64_t bytes() const { return bytes_; }

  /// Writes the pattern to [begin, end).
  void Restore(int64_t begin, int64_t end);
  /// One more than the highest offset in [begin, end) that no longer holds the pattern; `begin` if
  /// all do.
  int64_t EndOfChanges(int64_t begin, int64_t end) const;

 private:
  Backend* const backend_;
  const Tier tier_;
  const int64_t bytes_;
  char* const memory_;
  mutable std::vector<char> staging_;  ///< the way to and from the tier, empty unless patterned
};

}  // namespace layrub

#endif  // LAYRUB_DEVICE_ARENA_HPP_
