#ifndef LAYRUB_PLACEMENT_POLICIES_SEGMENTS_HPP_
#define LAYRUB_PLACEMENT_POLICIES_SEGMENTS_HPP_

#include <vector>

#include "layrub/placement/ir/graph.hpp"
#include "layrub/placement/ir/program.hpp"
#include "layrub/placement/ir/uses.hpp"

namespace layrub::placement::policies {

// The recomputation of SuperNeurons. Source: Wang et al., "SuperNeurons" (PPoPP 2018), section 3.4.

/// By operation, whether it is a checkpoint, whose outputs are not worth recomputing or cannot be
/// recomputed: a conv-like forward, or one that writes something but cannot run again. `originals`
/// has one run for each operation.
std::vector<bool> Checkpoints(const Graph& graph, const std::vector<Run>& originals);

/// The result of RecomputeSegments.
struct Recomputed {
  std::vector<bool> dropped;  ///< by tensor
  UseLists uses;              ///< of the program's runs
};

/// Cuts the forward pass into segments, each of which begins with a checkpoint, and recomputes the
/// operations whose outputs are not used by the forward pass after the next checkpoint: their
/// outputs are dropped after their last forward use. Checkpoints and the last segment keep
/// everything.
///
/// A segment is recomputed once and then stays ("speed-centric") if its dropped tensors, together
/// with the backward operation that needs them first, need no more bytes than the most demanding
/// operation of the net. Otherwise it is recomputed for each backward operation that reads from it,
/// and dropped each time ("memory-centric"). `program` must have no recomputations yet.
Recomputed RecomputeSegments(const Graph& graph, Program* program);

}  // namespace layrub::placement::policies

#endif  // LAYRUB_PLACEMENT_POLICIES_SEGMENTS_HPP_
