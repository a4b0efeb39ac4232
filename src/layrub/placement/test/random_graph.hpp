#ifndef LAYRUB_PLACEMENT_TEST_RANDOM_GRAPH_HPP_
#define LAYRUB_PLACEMENT_TEST_RANDOM_GRAPH_HPP_

#include <rapidcheck.h>

#include <cstdint>
#include <ostream>

#include "layrub/placement/ir/graph.hpp"

namespace layrub::testing {

/// A training iteration of a made-up net of about `layers` layers; the same arguments give the same
/// net. It has branches, views, in-place chains, several backward variants, shared weights, diffs
/// that nobody reads or writes, layers without traits, several algorithms, empty tensors and
/// updates. It passes Validate, and every operation has a variant that reads no version overwritten
/// by a later one of its blob, so every strategy is applicable.
Graph RandomGraph(uint64_t seed, int layers);

/// A rapidcheck generator of graphs; it shrinks them by leaving out layers at the end.
rc::Gen<Graph> ArbitraryGraph();

}  // namespace layrub::testing

namespace layrub::placement {

/// Prints a graph for rapidcheck as its name, which tells the arguments of RandomGraph.
void showValue(const Graph& graph, std::ostream& out);

}  // namespace layrub::placement

#endif  // LAYRUB_PLACEMENT_TEST_RANDOM_GRAPH_HPP_
