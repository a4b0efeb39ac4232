#ifndef LAYRUB_PLACEMENT_POLICIES_RECOMPUTE_HPP_
#define LAYRUB_PLACEMENT_POLICIES_RECOMPUTE_HPP_

#include <vector>

#include "layrub/placement/ir/decision.hpp"
#include "layrub/placement/ir/graph.hpp"
#include "layrub/placement/ir/uses.hpp"

namespace layrub::placement::policies {

// How strategies recompute: which tensors may be dropped, which runs bring them back, and the gaps
// that follow from the runs.

/// For each tensor, the forward operation that can run again for its value, anywhere between its
/// first run and the updates; kNone: once dropped, the value is lost. `originals` has one run for
/// each operation.
std::vector<OpId> Producers(const Graph& graph, const std::vector<Run>& originals);
/// As that, without operations that write a tensor marked keep. Who runs only these again never
/// drops what has to be readable between the passes.
std::vector<OpId> ProducersOfUnkept(const Graph& graph, const std::vector<Run>& originals);

/// Appends to `runs` recomputations after which the tensors `wanted` are there: of their producers,
/// and of those of what these read, as far as it is away; each operation once, in graph order.
/// `away`, by tensor, says what was dropped and is updated; all that is away must have a producer.
void AppendReplay(const Graph& graph, const std::vector<Run>& originals,
                  const std::vector<OpId>& producers, const std::vector<TensorId>& wanted,
                  std::vector<bool>* away, std::vector<Run>* runs);

/// Opens a dropped gap wherever a recomputation writes a tensor without reading it: nobody needs
/// the value that the tensor had before. An operation's first run may rely on more than it declares
/// (a user's layer may leave a derivative in Forward for Backward). Tensors that stay resident, or
/// have gaps already, are left alone. Returns the uses of the decision's runs.
UseLists DropUnread(const Graph& graph, Decision* decision);

/// Gives up `dropped` tensors, all of which have producers, after their last forward use, and
/// brings them back, to stay, just before the backward operation that reads them first. So no
/// operation runs more than twice. `decision` has no recomputations yet. Returns the uses of its
/// runs.
UseLists RecomputeOnce(const Graph& graph, const std::vector<bool>& dropped, Decision* decision);

}  // namespace layrub::placement::policies

#endif  // LAYRUB_PLACEMENT_POLICIES_RECOMPUTE_HPP_
