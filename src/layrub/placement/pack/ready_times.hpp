#ifndef LAYRUB_PLACEMENT_PACK_READY_TIMES_HPP_
#define LAYRUB_PLACEMENT_PACK_READY_TIMES_HPP_

#include <cstddef>
#include <cstdint>
#include <vector>

namespace layrub::placement::pack {

/// When each byte of an arena may be written again. All bytes are free from the start until Set is
/// called for them.
class ReadyTimes {
 public:
  /// Bytes [begin, end) are free from `seconds` on.
  void Set(int64_t begin, int64_t end, double seconds);

  /// Seconds to wait at time `seconds` until all of [begin, end) is free.
  double Wait(int64_t begin, int64_t end, double seconds) const;

 private:
  struct Stretch {
    int64_t begin = 0;
    int64_t end = 0;
    double ready = 0;
  };
  size_t FirstAfter(int64_t place) const;

  std::vector<Stretch> stretches_;  ///< in order
};

}  // namespace layrub::placement::pack

#endif  // LAYRUB_PLACEMENT_PACK_READY_TIMES_HPP_
