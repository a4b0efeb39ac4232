#ifndef LAYRUB_PLACEMENT_POLICIES_SEGMENTS_HPP_
#define LAYRUB_PLACEMENT_POLICIES_SEGMENTS_HPP_

#include <vector>

#include "layrub/placement/ir/decision.hpp"
#include "layrub/placement/ir/graph.hpp"
#include "layrub/placement/ir/uses.hpp"

namespace layrub::placement::policies {

// How SuperNeurons recomputes. Source: Wang et al., "SuperNeurons" (PPoPP 2018), section 3.4.

/// By operation: its outputs are not worth computing again, or cannot be: a forward that is
/// conv-like, or that makes something without being able to run again. `originals` has one run for
/// each operation.
std::vector<bool> Checkpoints(const Graph& graph, const std::vector<Run>& originals);

/// What RecomputeSegments has done.
struct Recomputed {
  std::vector<bool> dropped;  ///< by tensor
  UseLists uses;              ///< of the decision's runs
};

/// The forward pass is cut into segments, each of which begins with a checkpoint. Operations of
/// which nobody after the next checkpoint uses anything in the forward pass run again: what they
/// make is dropped after its last forward use. Checkpoints and the last segment keep everything. A
/// segment whose dropped tensors, together with the backward operation that needs them first, need
/// no more bytes than the most demanding operation of the net, is computed again once and stays
/// ("speed-centric"); another is computed again for each backward operation that reads of it, and
/// dropped each time ("memory-centric"). `decision` has no recomputations yet.
Recomputed RecomputeSegments(const Graph& graph, Decision* decision);

}  // namespace layrub::placement::policies

#endif  // LAYRUB_PLACEMENT_POLICIES_SEGMENTS_HPP_
