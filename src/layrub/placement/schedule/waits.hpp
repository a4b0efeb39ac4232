#ifndef LAYRUB_PLACEMENT_SCHEDULE_WAITS_HPP_
#define LAYRUB_PLACEMENT_SCHEDULE_WAITS_HPP_

#include "layrub/placement/ir/graph.hpp"
#include "layrub/placement/ir/plan.hpp"

namespace layrub::placement::schedule {

/// Inserts Waits into `plan`, which has none and whose offsets are set. They order every two steps
/// of different lanes that touch the same bytes if one of them writes. Each Wait stands immediately
/// before the step that needs it, and none is implied by the others. Adjusts pass_end. Assumes that
/// only the compute lane touches state at home on the device.
void AddWaits(const Graph& graph, Plan* plan);

}  // namespace layrub::placement::schedule

#endif  // LAYRUB_PLACEMENT_SCHEDULE_WAITS_HPP_
