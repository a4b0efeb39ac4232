#ifndef LAYRUB_PLACEMENT_PACK_OPTIONS_HPP_
#define LAYRUB_PLACEMENT_PACK_OPTIONS_HPP_

#include <cstdint>
#include <limits>
#include <vector>

#include "layrub/placement/ir/plan.hpp"

namespace layrub::placement::pack {

/// When a range of the device is in use, roughly, in seconds from the start of the iteration.
struct Timing {
  double wanted = 0;  ///< when it is touched for the first time
  double ready = 0;   ///< when it has been touched for the last time
};

/// Times that packing may use. `moved_byte` and `piece` give the duration of a Move (see
/// MoveSeconds); with their defaults only the ratio of the two is meaningful.
struct Timings {
  std::vector<Timing> ranges;  ///< by block, as FindLifetimes numbers them; empty: unknown
  double moved_byte = 1;       ///< seconds
  double piece = 4 << 20;      ///< additional seconds for each piece in which a Move is done
};

/// How a program is packed.
struct Options {
  /// Packing stops once it needs at most this many device bytes. In a tighter packing, copies wait
  /// for one another more often.
  int64_t enough_bytes = 0;
  /// Limit of host memory. What leaves the device and does not fit there goes to a file.
  int64_t host_bytes = std::numeric_limits<int64_t>::max();
  /// If packing into fixed ranges needs more than enough_bytes, tensors may be moved within the
  /// device between runs, so that enough_bytes is reached more often, and sooner. Packing looks for
  /// few moves.
  bool may_move = false;
  /// Bytes to leave between ranges.
  int64_t padding = 0;
  /// If they are known and tensors may move, ranges are given out one after the other in order of
  /// time, each where it waits least for earlier users of its bytes.
  Timings timings = {};
};

/// Options::host_bytes of a plan within `budget`. Unlimited if there is no spill file: then nothing
/// spills, and a plan that needs too much host memory is refused with the size that it needs.
inline int64_t HostBytes(const Budget& budget) {
  return budget.spill > 0 ? budget.host : std::numeric_limits<int64_t>::max();
}

}  // namespace layrub::placement::pack

#endif  // LAYRUB_PLACEMENT_PACK_OPTIONS_HPP_
