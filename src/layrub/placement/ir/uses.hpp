#ifndef LAYRUB_PLACEMENT_IR_USES_HPP_
#define LAYRUB_PLACEMENT_IR_USES_HPP_

#include <span>
#include <vector>

#include "layrub/placement/ir/buckets.hpp"
#include "layrub/placement/ir/decision.hpp"
#include "layrub/placement/ir/graph.hpp"

namespace layrub::placement {

/// A run that touches a tensor.
struct Use {
  RunId run = kNone;
  bool reads = false;
  bool writes = false;
};

/// The uses of each tensor, in order of runs; scratch has none.
using UseLists = Buckets<Use>;
UseLists FindUses(const Graph& graph, const std::vector<Run>& runs);

/// The gap of state at home in the host tier before `first`, its first use, as late as it may end.
Gap FromTheStart(const Use& first);
/// The gap after `last`, the last use of a tensor, that lasts to the end.
Gap ToTheEnd(const Use& last, const std::vector<Run>& runs);

/// Whether a plan gives the tensor bytes at all: a saved tensor that no chosen form reads has none.
bool Materialised(const Tensor& tensor, std::span<const Use> uses);

/// The versions of each named blob that a plan gives bytes, state left out, in the order
/// in which they are first written. Only blobs with at least two.
std::vector<std::vector<TensorId>> BlobVersions(const Graph& graph, const UseLists& uses);

/// The first operation of `pass` or a later pass; graph.ops.size() if there is none.
OpId FirstOp(const Graph& graph, Pass pass);

/// A decision that takes the first form and the smallest workspace of every operation, keeps
/// nothing whole and moves nothing: a strategy starts from it.
Decision DefaultDecision(const Graph& graph);

}  // namespace layrub::placement

#endif  // LAYRUB_PLACEMENT_IR_USES_HPP_
