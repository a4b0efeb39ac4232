#ifndef LAYRUB_PLACEMENT_TEST_RANDOM_GRAPH_HPP_
#define LAYRUB_PLACEMENT_TEST_RANDOM_GRAPH_HPP_

#include <rapidcheck.h>

#include <cstdint>
#include <ostream>

#include "layrub/placement/ir/graph.hpp"

namespace layrub::testing {

/// A training iteration of a made-up net of about `layers` layers, the same for the same arguments:
/// branches, views, in-place chains, several backward forms, shared weights, diffs that nobody
/// reads or writes, layers without traits, scratch variants, empty tensors, updates. Fulfils
/// Validate, and some form of every operation reads only versions that no later version of the blob
/// overwrites, so that every strategy is applicable.
Graph RandomGraph(uint64_t seed, int layers);

/// Shrinks by leaving out layers at the end.
rc::Gen<Graph> ArbitraryGraph();

}  // namespace layrub::testing

namespace layrub::placement {

/// How rapidcheck prints a graph: its name, which tells the arguments of RandomGraph.
void showValue(const Graph& graph, std::ostream& out);

}  // namespace layrub::placement

#endif  // LAYRUB_PLACEMENT_TEST_RANDOM_GRAPH_HPP_
