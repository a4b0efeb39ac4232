#ifndef LAYRUB_PLACEMENT_COST_RUN_STARTS_HPP_
#define LAYRUB_PLACEMENT_COST_RUN_STARTS_HPP_

#include <vector>

#include "layrub/placement/cost/machine.hpp"
#include "layrub/placement/ir/graph.hpp"
#include "layrub/placement/ir/program.hpp"

namespace layrub::placement::cost {

/// The second at which each run begins if nothing ever waits, and, as last element, the end.
std::vector<double> RunStarts(const Graph& graph, const Machine& machine,
                              const std::vector<Run>& runs);

}  // namespace layrub::placement::cost

#endif  // LAYRUB_PLACEMENT_COST_RUN_STARTS_HPP_
