#ifndef LAYRUB_PLACEMENT_COST_PROFILE_HPP_
#define LAYRUB_PLACEMENT_COST_PROFILE_HPP_

#include <vector>

#include "layrub/placement/cost/machine.hpp"
#include "layrub/placement/cost/timeline.hpp"
#include "layrub/placement/ir/graph.hpp"
#include "layrub/placement/ir/plan.hpp"

namespace layrub {

/// Notes in machine->measured, for each form and workspace of an operation that ran in `iterations`
/// (recorded under `plan`), the median of the seconds that it took. What copies beside an operation
/// cost it is taken off, as machine->compute_while_copying says.
void LearnOperations(const Graph& graph, const Plan& plan, const std::vector<Timeline>& iterations,
                     Machine* machine);

/// Sets machine->compute_while_copying and copy_while_computing to what explains `iterations`, in
/// which copies ran beside operations, given the times of both alone. Leaves alone what the
/// iterations say nothing about.
void LearnInterference(const Graph& graph, const Plan& plan,
                       const std::vector<Timeline>& iterations, Machine* machine);

/// How many operations of `graph` have a form that was measured, or are Feeds, which take the time
/// of copies: fewer than all for a profile of another net, another batch or another solver.
int MeasuredOperations(const Graph& graph, const Machine& machine);

}  // namespace layrub

#endif  // LAYRUB_PLACEMENT_COST_PROFILE_HPP_
