#ifndef LAYRUB_PLACEMENT_SCHEDULE_SCHEDULE_HPP_
#define LAYRUB_PLACEMENT_SCHEDULE_SCHEDULE_HPP_

#include <cstdint>

#include "layrub/placement/ir/decision.hpp"
#include "layrub/placement/ir/graph.hpp"
#include "layrub/placement/ir/lifetimes.hpp"
#include "layrub/placement/ir/plan.hpp"

namespace layrub::placement::schedule {

/// Decision -> steps with offsets and waits. kInvalid names the operation and tensor for which the
/// decision asks something impossible. Emits no Wait that is implied by the others. `padding` bytes
/// are left between ranges.
Result<Plan> Schedule(const Graph& graph, const Decision& decision, int64_t padding = 0);

/// The steps of PackSteps, placed nowhere.
Plan StepsOf(const Graph& graph, const Decision& decision, const Lifetimes& lives);

/// Schedule for a decision whose lifetimes are known, but for the Waits, which AddWaits inserts:
/// all there is to know about the bytes of its plan.
Plan PackSteps(const Graph& graph, const Decision& decision, const Lifetimes& lives,
               int64_t padding = 0);

}  // namespace layrub::placement::schedule

#endif  // LAYRUB_PLACEMENT_SCHEDULE_SCHEDULE_HPP_
