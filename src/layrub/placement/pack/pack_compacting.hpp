#ifndef LAYRUB_PLACEMENT_PACK_PACK_COMPACTING_HPP_
#define LAYRUB_PLACEMENT_PACK_PACK_COMPACTING_HPP_

#include <cstdint>
#include <optional>
#include <vector>

#include "layrub/placement/ir/decision.hpp"
#include "layrub/placement/pack/pack.hpp"

namespace layrub::placement::pack {

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

/// Packs into `enough` bytes as an allocator would that sees one request after the other and may
/// move what it has given: where something finds no hole, what lies in one place makes way, or what
/// lies between some holes slides together, and where that finds none either, everything does. So
/// what lives within `enough` bytes is packed, unless something that may not be moved is in the
/// way. Of holes, that is taken where the least is waited for by `timings`, which has a range for
/// each interval, or none. Intervals that live all the time lie at the bottom, in the order given.
/// All intervals of a run begin at the
/// last of `moments` (in order) before them; sizes are multiples of `unit`. An interval may go on
/// with the first bytes of another
/// (`follows`, kNone: of none; empty: none does). With fewer bytes it is what is left of that, and
/// lies where it lay last; with more it begins where that lies after its Shifts: room is made
/// around it, or it moves. What begins at a moment must not be movable then. Nothing if that fails,
/// or for many thousands of intervals.
std::optional<MovingPacking> PackCompacting(const std::vector<Interval>& intervals,
                                            const std::vector<Movable>& movable,
                                            const std::vector<int32_t>& moments,
                                            const Timings& timings, int64_t unit, int64_t enough,
                                            const std::vector<int32_t>& follows = {});

}  // namespace layrub::placement::pack

#endif  // LAYRUB_PLACEMENT_PACK_PACK_COMPACTING_HPP_
