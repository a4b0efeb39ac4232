#ifndef LAYRUB_PLACEMENT_COST_RUN_STARTS_HPP_
#define LAYRUB_PLACEMENT_COST_RUN_STARTS_HPP_

#include <cstdint>
#include <vector>

#include "layrub/placement/cost/machine.hpp"
#include "layrub/placement/ir/graph.hpp"
#include "layrub/placement/ir/plan.hpp"
#include "layrub/placement/ir/program.hpp"

namespace layrub::placement::cost {

/// The seconds that a copy of `bytes` bytes takes on `lane` if nothing else uses the link.
double CopySeconds(Lane lane, int64_t bytes, const Machine& machine);

/// The second at which each run begins if nothing ever waits, and, as last element, the end.
std::vector<double> RunStarts(const Graph& graph, const Machine& machine,
                              const std::vector<Run>& runs);

}  // namespace layrub::placement::cost

#endif  // LAYRUB_PLACEMENT_COST_RUN_STARTS_HPP_
