#ifndef LAYRUB_PLACEMENT_STRATEGIES_CUT_WITHIN_HPP_
#define LAYRUB_PLACEMENT_STRATEGIES_CUT_WITHIN_HPP_

#include <cstdint>

#include "layrub/graph.hpp"
#include "layrub/machine.hpp"
#include "layrub/placement/strategies/frugal_forms.hpp"
#include "layrub/strategy.hpp"

namespace layrub {

/// How CutWithin uses its room.
struct Cuts {
  double forms;     ///< forms that take more than this part of the room give way to smaller ones:
                    ///< what to start from
  double segment;   ///< forward is cut into segments of so many rooms; what leaves one is not
                    ///< computed again
  double again;     ///< of the stashes beyond those that are best computed again, this part too;
                    ///< negative: nothing is computed again
  double headroom;  ///< part of the room for copies back that come early
};

/// Decides on all of the recomputations at once, each operation at most once more, then pages: the
/// forward pass is cut into segments where few bytes cross, what is cheapest to compute again for
/// its bytes and does not leave its segment is dropped, and the rest keeps to `room` bytes of what
/// is not persistent by PageWithin. Forms are those of `start`.
Decision CutWithin(const Graph& graph, const Machine& machine, const Start& start, int64_t room,
                   const Cuts& cuts);

}  // namespace layrub

#endif  // LAYRUB_PLACEMENT_STRATEGIES_CUT_WITHIN_HPP_
