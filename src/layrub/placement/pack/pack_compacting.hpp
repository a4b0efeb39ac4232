#ifndef LAYRUB_PLACEMENT_PACK_PACK_COMPACTING_HPP_
#define LAYRUB_PLACEMENT_PACK_PACK_COMPACTING_HPP_

#include <cstdint>
#include <optional>
#include <vector>

#include "layrub/placement/pack/options.hpp"
#include "layrub/placement/pack/pack.hpp"

namespace layrub::placement::pack {

/// An interval moves to `offset` at moment `at`. At that moment it has both ranges, which may
/// overlap.
struct Shift {
  int32_t interval = 0;
  int32_t at = 0;
  int64_t offset = 0;
};

struct MovingPacking {
  Packing packing;            ///< the first offsets of the intervals
  std::vector<Shift> shifts;  ///< in the order in which they are done
};

/// The moments at which an interval may be moved, from the first to the last. A move before
/// `settled` has to wait for a copy.
struct Movable {
  int32_t from = 0;
  int32_t to = -1;  ///< < from: never
  int32_t settled = 0;
};

/// Packs into `enough` bytes like an allocator that serves one request after the other and may move
/// what it has given out. If no hole is large enough, intervals make way for the new one, or
/// intervals between several holes slide together, whichever costs less; if neither is possible,
/// all intervals slide down. So intervals that live within `enough` bytes are packed unless
/// something that may not move is in the way. Of several holes, takes the one that has to be waited
/// for the least by `timings`, whose `ranges` has one element for each interval or none. Intervals
/// that live all the time lie at the bottom, in the order given.
///
/// An interval is placed at the last of the sorted `moments` that is not after its begin; what is
/// placed at a moment must not be movable then. Sizes are multiples of `unit`.
///
/// `follows` has for each interval the one whose first bytes it continues, or kNone; it may be
/// empty. An interval smaller than the one that it follows is a part that is left of it, and stays
/// where that one lay last. A larger one begins where the part lies after its Shifts: others make
/// way around the part, or the part moves.
///
/// Returns nothing if packing fails, or for many thousands of intervals.
std::optional<MovingPacking> PackCompacting(const std::vector<Interval>& intervals,
                                            const std::vector<Movable>& movable,
                                            const std::vector<int32_t>& moments,
                                            const Timings& timings, int64_t unit, int64_t enough,
                                            const std::vector<int32_t>& follows = {});

}  // namespace layrub::placement::pack

#endif  // LAYRUB_PLACEMENT_PACK_PACK_COMPACTING_HPP_
