#ifndef LAYRUB_PLACEMENT_POLICIES_RECOMPUTE_HPP_
#define LAYRUB_PLACEMENT_POLICIES_RECOMPUTE_HPP_

#include <vector>

#include "layrub/placement/ir/graph.hpp"
#include "layrub/placement/ir/program.hpp"
#include "layrub/placement/ir/uses.hpp"

namespace layrub::placement::policies {

// Recomputation for strategies: which tensors may be dropped, which runs restore them, and the
// evictions that follow from the runs.

/// For each tensor, the forward operation that can restore its value by running again anywhere
/// between its first run and the update of a parameter that it reads. kNone: once dropped, the
/// value is lost. `originals` has one run for each operation.
std::vector<OpId> Producers(const Graph& graph, const std::vector<Run>& originals);
/// The same without operations that write a tensor marked keep. A strategy that recomputes only the
/// others never drops a tensor that must be readable between the passes.
std::vector<OpId> ProducersOfUnkept(const Graph& graph, const std::vector<Run>& originals);

/// Appends to `runs` the recomputations that restore the tensors `wanted`: of their producers and,
/// recursively, of the producers of dropped operands; each operation once, in graph order. `away`,
/// by tensor, says what is dropped, and is updated. All tensors that are away must have a producer.
void AppendReplay(const Graph& graph, const std::vector<Run>& originals,
                  const std::vector<OpId>& producers, const std::vector<TensorId>& wanted,
                  std::vector<bool>* away, std::vector<Run>* runs);

/// Adds a dropped eviction wherever a recomputation writes a tensor without reading it, because
/// nobody needs the value before that. First runs are left alone, because they may rely on more
/// than they declare (a user's layer may leave a derivative in Forward for Backward). So are
/// tensors that stay resident or have evictions already. Returns the uses of the program's runs.
UseLists DropUnread(const Graph& graph, Program* program);

/// Drops the tensors `dropped`, all of which have producers, after their last forward use, and
/// restores them just before the first backward operation that reads them. Then they stay, so no
/// operation runs more than twice. `program` must have no recomputations yet. Returns the uses of
/// its runs.
UseLists RecomputeOnce(const Graph& graph, const std::vector<bool>& dropped, Program* program);

}  // namespace layrub::placement::policies

#endif  // LAYRUB_PLACEMENT_POLICIES_RECOMPUTE_HPP_
