#ifndef LAYRUB_PLACEMENT_WAITS_HPP_
#define LAYRUB_PLACEMENT_WAITS_HPP_

#include "layrub/graph.hpp"
#include "layrub/plan.hpp"

namespace layrub {

/// Inserts into `plan`, which has none and whose offsets are set, the Waits that order every two
/// steps of different lanes that touch the same bytes, one of them writing. Each Wait stands
/// immediately before the step that needs it and none is implied by the others. pass_end is moved
/// along. Persistent tensors are taken to be touched by the compute lane alone.
void AddWaits(const Graph& graph, Plan* plan);

}  // namespace layrub

#endif  // LAYRUB_PLACEMENT_WAITS_HPP_
