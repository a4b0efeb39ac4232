#ifndef LAYRUB_PLACEMENT_SCHEDULE_WAITS_HPP_
#define LAYRUB_PLACEMENT_SCHEDULE_WAITS_HPP_

#include "layrub/placement/ir/graph.hpp"
#include "layrub/placement/ir/plan.hpp"

namespace layrub::placement::schedule {

/// Inserts into `plan`, which has none and whose offsets are set, the Waits that order every two
/// steps of different lanes that touch the same bytes, one of them writing. Each Wait stands
/// immediately before the step that needs it and none is implied by the others. pass_end is moved
/// along. Persistent tensors are taken to be touched by the compute lane alone.
void AddWaits(const Graph& graph, Plan* plan);

}  // namespace layrub::placement::schedule

#endif  // LAYRUB_PLACEMENT_SCHEDULE_WAITS_HPP_
