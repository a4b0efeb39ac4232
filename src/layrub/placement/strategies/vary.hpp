#ifndef LAYRUB_PLACEMENT_STRATEGIES_VARY_HPP_
#define LAYRUB_PLACEMENT_STRATEGIES_VARY_HPP_

#include <random>
#include <vector>

#include "layrub/graph.hpp"
#include "layrub/machine.hpp"
#include "layrub/placement/strategies/run_within.hpp"

namespace layrub {

/// Lessons like `lessons`, in which a few tensors weigh more or less when something has to leave,
/// or their copies count more or less. `returns`, by tensor, is what bringing it back took with
/// `lessons` (ReturnsByTensor); the more it took, the rather a tensor is chosen.
Lessons Vary(const Graph& graph, const Machine& machine, const std::vector<double>& returns,
             Lessons lessons, std::mt19937* random);

}  // namespace layrub

#endif  // LAYRUB_PLACEMENT_STRATEGIES_VARY_HPP_
