#ifndef LAYRUB_PLACEMENT_COST_PROFILE_HPP_
#define LAYRUB_PLACEMENT_COST_PROFILE_HPP_

#include <vector>

#include "layrub/placement/cost/machine.hpp"
#include "layrub/placement/cost/timeline.hpp"
#include "layrub/placement/ir/graph.hpp"
#include "layrub/placement/ir/plan.hpp"

namespace layrub {

/// Sets machine->measured, for each variant and algorithm of an operation that ran in `iterations`
/// (recorded under `plan`), to the median of the seconds that it took. Subtracts the time that
/// concurrent copies cost, according to machine->compute_while_copying.
void LearnOperations(const Graph& graph, const Plan& plan, const std::vector<Timeline>& iterations,
                     Machine* machine);

/// Sets machine->compute_while_copying and copy_while_computing to the values that explain
/// `iterations`, in which copies ran beside operations, given the times of both alone. Leaves a
/// value unchanged if the iterations say nothing about it.
void LearnInterference(const Graph& graph, const Plan& plan,
                       const std::vector<Timeline>& iterations, Machine* machine);

/// Returns how many operations of `graph` have a measured variant or are Feeds, which take the time
/// of copies. These are fewer than all if the profile is of another net, batch or solver.
int MeasuredOperations(const Graph& graph, const Machine& machine);

}  // namespace layrub

#endif  // LAYRUB_PLACEMENT_COST_PROFILE_HPP_
