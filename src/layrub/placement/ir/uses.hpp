#ifndef LAYRUB_PLACEMENT_IR_USES_HPP_
#define LAYRUB_PLACEMENT_IR_USES_HPP_

#include <span>
#include <vector>

#include "layrub/placement/ir/buckets.hpp"
#include "layrub/placement/ir/graph.hpp"
#include "layrub/placement/ir/program.hpp"
#include "layrub/placement/ir/short_list.hpp"

namespace layrub::placement {

/// A run that touches a tensor.
struct Use {
  RunId run = kNone;
  bool reads = false;
  bool writes = false;
};

/// The uses of each tensor, in order of runs; workspaces have none.
using UseLists = Buckets<Use>;
UseLists FindUses(const Graph& graph, const std::vector<Run>& runs);

/// The eviction of state at home off the device from the start of the plan to its first use
/// `first`. It ends as late as possible.
Eviction FromTheStart(const Use& first);
/// The eviction from the last use of a tensor, `last`, to the end of the plan.
Eviction ToTheEnd(const Use& last, const std::vector<Run>& runs);
/// The eviction of a tensor from its use number `use` until the next one, or to the end. It is as
/// long as possible. If the next use is a recomputation that writes the tensor without reading it,
/// the tensor is dropped; otherwise it is copied.
Eviction AfterUse(std::span<const Use> uses, size_t use, const std::vector<Run>& runs);

/// Whether the host tier has the value that a tensor has after run `run`, if it was offloaded after
/// the runs `offloads`. State begins there. A recomputation writes the value that is there already.
bool HostHasValue(const Tensor& tensor, std::span<const Use> uses, const std::vector<Run>& runs,
                  const ShortList<RunId>& offloads, RunId run);
/// The runs after which a tensor is offloaded: those at which `evictions` copy a value that the
/// host tier lacks.
ShortList<RunId> FindOffloads(const Tensor& tensor, std::span<const Use> uses,
                              const std::vector<Run>& runs, const ShortList<Eviction>& evictions);

/// Whether the tensor has bytes in a plan. A saved tensor that no chosen variant reads has none.
bool Materialised(const Tensor& tensor, std::span<const Use> uses);

/// The versions of each named blob that have bytes in a plan, without state, in the order in which
/// they are first written. Only blobs with at least two such versions.
std::vector<std::vector<TensorId>> BlobVersions(const Graph& graph, const UseLists& uses);

/// The first operation of `pass` or a later pass; graph.ops.size() if there is none.
OpId FirstOp(const Graph& graph, Pass pass);

/// The program from which strategies start: the first variant and the smallest workspace of every
/// operation, no evictions, and each tensor on the device from its first to its last use.
Program DefaultProgram(const Graph& graph);

}  // namespace layrub::placement

#endif  // LAYRUB_PLACEMENT_IR_USES_HPP_
