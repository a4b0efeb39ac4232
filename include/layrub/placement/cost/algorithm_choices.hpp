#ifndef LAYRUB_PLACEMENT_COST_ALGORITHM_CHOICES_HPP_
#define LAYRUB_PLACEMENT_COST_ALGORITHM_CHOICES_HPP_

#include "layrub/base/status.hpp"
#include "layrub/placement/ir/graph.hpp"

namespace layrub {

/// Leaves each variant only the algorithm that DefaultAlgorithm chooses. It is deterministic, and
/// the same for every budget, strategy and machine, and in a layer called without a plan. Returns
/// kInvalid, naming the operation, if a variant has no deterministic algorithm.
Status KeepDeterministic(Graph* graph);
/// Leaves each variant only its algorithm number `choice`, or its last one if it has fewer. For
/// measuring one algorithm after the other.
void KeepAlgorithm(int choice, Graph* graph);
/// The largest number of algorithms of any variant in the graph.
int AlgorithmChoices(const Graph& graph);

}  // namespace layrub

#endif  // LAYRUB_PLACEMENT_COST_ALGORITHM_CHOICES_HPP_
