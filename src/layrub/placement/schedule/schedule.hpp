#ifndef LAYRUB_PLACEMENT_SCHEDULE_SCHEDULE_HPP_
#define LAYRUB_PLACEMENT_SCHEDULE_SCHEDULE_HPP_

#include <cstdint>

#include "layrub/placement/ir/decision.hpp"
#include "layrub/placement/ir/graph.hpp"
#include "layrub/placement/ir/lifetimes.hpp"
#include "layrub/placement/ir/plan.hpp"

namespace layrub::placement::schedule {

/// Turns a decision into a plan: steps with offsets and Waits, none of which is implied by the
/// others. Returns kInvalid naming the operation or tensor for which the decision asks something
/// impossible. Leaves `padding` bytes between ranges.
Result<Plan> Schedule(const Graph& graph, const Decision& decision, int64_t padding = 0);

/// The steps of PackSteps without addresses; see Emitted::plan.
Plan StepsOf(const Graph& graph, const Decision& decision, const Lifetimes& lives);

/// Schedule without the Waits, which AddWaits inserts, for a decision whose lifetimes are known.
/// Enough to know how many bytes the plan takes.
Plan PackSteps(const Graph& graph, const Decision& decision, const Lifetimes& lives,
               int64_t padding = 0);

}  // namespace layrub::placement::schedule

#endif  // LAYRUB_PLACEMENT_SCHEDULE_SCHEDULE_HPP_
