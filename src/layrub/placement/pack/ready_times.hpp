#ifndef LAYRUB_PLACEMENT_PACK_READY_TIMES_HPP_
#define LAYRUB_PLACEMENT_PACK_READY_TIMES_HPP_

#include <cstddef>
#include <cstdint>
#include <vector>

namespace layrub::placement::pack {

/// When each byte of an arena is free to be written: from the start on, until told otherwise.
class ReadyTimes {
 public:
  /// [begin, end) is free from `seconds` on.
  void Set(int64_t begin, int64_t end, double seconds);

  /// How long who wants [begin, end) at `seconds` waits until all of it is free.
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
