#ifndef LAYRUB_PLACEMENT_PACK_READY_TIMES_HPP_
#define LAYRUB_PLACEMENT_PACK_READY_TIMES_HPP_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "layrub/placement/ir/decision.hpp"

namespace layrub::placement::pack {

/// When each byte of an arena is free to be written: from the start on, until told otherwise.
class ReadyTimes {
 public:
  /// [begin, end) is free from then on: its first byte at `first` seconds, its last at `last`,
  /// those between at times between.
  void Set(int64_t begin, int64_t end, double first, double last);

  /// How long what begins at `offset` waits, whose first byte of `bytes` is wanted at
  /// `timing.wanted_first` and whose last at `timing.wanted_last`.
  double Wait(int64_t offset, int64_t bytes, const Timing& timing) const;

 private:
  struct Stretch {
    int64_t begin = 0;
    int64_t end = 0;
    double first = 0;
    double last = 0;
    /// At `place`, on the line from `first` at `begin` to `last` at `end`.
    double At(int64_t place) const {
      const auto part = static_cast<double>(place - begin) / static_cast<double>(end - begin);
      return first + (last - first) * part;
    }
  };
  size_t FirstAfter(int64_t place) const;

  std::vector<Stretch> stretches_;  ///< in order
};

}  // namespace layrub::placement::pack

#endif  // LAYRUB_PLACEMENT_PACK_READY_TIMES_HPP_
