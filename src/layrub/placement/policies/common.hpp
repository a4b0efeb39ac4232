#ifndef LAYRUB_PLACEMENT_POLICIES_COMMON_HPP_
#define LAYRUB_PLACEMENT_POLICIES_COMMON_HPP_

#include <vector>

#include "layrub/placement/ir/program.hpp"
#include "layrub/placement/ir/uses.hpp"

namespace layrub::placement::policies {

// Steps that several strategies share. Call them in this order: first choose variants, because uses
// depend on them; then add recomputations, because uses count runs; then moves and aliases in any
// order. `uses` are those of the program's runs.

/// DefaultProgram with each operation in the variant whose operands have the fewest bytes. For
/// example, a backward that can do with a mask reads the mask.
Program InSmallestVariants(const Graph& graph);

/// Evicts each activation and saved tensor that a backward operation reads. It is offloaded after
/// its last forward use, its bytes are freed one operation later, and it is prefetched one
/// operation before its first backward use. What the first backward operation reads stays, and so
/// does what would be evicted for no operation at all. This is Layrub's inter-layer rule.
void MoveBetweenPasses(const Graph& graph, const UseLists& uses, Program* program);

enum class InPlace {
  kSameRole,  ///< data on data, gradients on gradients
  kAnyRole,   ///< gradients on data too: Layrub's intra-layer rule
};
/// Lays outputs, those of recomputations too, on inputs that nobody needs after their operation, as
/// far as the chosen variants allow, so that the most bytes are saved. Call it after variants and
/// evictions are chosen. Does not change how long tensors live.
void RunInPlace(const Graph& graph, const UseLists& uses, InPlace which, Program* program);

/// For each tensor, the operation that writes the next version of its blob; graph.ops.size() if
/// there is none.
std::vector<OpId> OverwrittenBy(const Graph& graph, const UseLists& uses);

/// Gives each operation the first variant that reads no tensor overwritten before. An operation
/// without such a variant keeps the one that it has.
void AvoidOverwritten(const Graph& graph, const std::vector<OpId>& overwritten, Program* program);

/// Keeps all tensors for the whole iteration. The versions of a named blob share one range unless
/// an older version is still needed.
void KeepBlobsWhole(const Graph& graph, const UseLists& uses, Program* program);

}  // namespace layrub::placement::policies

#endif  // LAYRUB_PLACEMENT_POLICIES_COMMON_HPP_
