#ifndef LAYRUB_PLACEMENT_PACK_MOVES_HPP_
#define LAYRUB_PLACEMENT_PACK_MOVES_HPP_

#include <cstdint>
#include <optional>
#include <vector>

#include "layrub/placement/pack.hpp"

namespace layrub {

/// An interval goes on at another offset from moment `at` on. At that moment it has both ranges,
/// which may overlap.
struct Shift {
  int32_t interval = 0;
  int32_t at = 0;
  int64_t offset = 0;
};

struct MovingPacking {
  Packing packing;            ///< where the intervals lie first
  std::vector<Shift> shifts;  ///< in the order in which they are done
};

/// At which moments an interval may be moved: from the first of them to the last. Before it has
/// settled, somebody has to wait for that.
struct Movable {
  int32_t from = 0;
  int32_t to = -1;  ///< < from: never
  int32_t settled = 0;
};

/// Packs into `enough` bytes, moving intervals where it does not do otherwise: PackSearch, and as
/// often as that fails, the interval that it had to take out most often is cut in two, at the
/// moment of `moments` (in order) since it has settled at which the fewest bytes live. So what
/// cannot be packed without gaps is packed into hardly more than live at once. Thousands of
/// intervals are left to Pack. Nothing if that fails, or takes about a tenth of a second. Intervals
/// that live all the time lie at the bottom, in the order given.
std::optional<MovingPacking> PackMoving(const std::vector<Interval>& intervals,
                                        const std::vector<Movable>& movable,
                                        const std::vector<int32_t>& moments, int64_t enough);

}  // namespace layrub

#endif  // LAYRUB_PLACEMENT_PACK_MOVES_HPP_
