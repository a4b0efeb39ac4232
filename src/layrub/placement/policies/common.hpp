#ifndef LAYRUB_PLACEMENT_POLICIES_COMMON_HPP_
#define LAYRUB_PLACEMENT_POLICIES_COMMON_HPP_

#include <vector>

#include "layrub/placement/ir/decision.hpp"
#include "layrub/placement/ir/uses.hpp"

namespace layrub::placement::policies {

// What several strategies do, one step each: forms first, since uses depend on them; then
// recomputations, since runs are counted with them; then moves and aliases in any order. `uses` are
// those of the decision's runs.

/// DefaultDecision with each operation in the form with the fewest bytes of operands: a backward
/// that can do with a mask does.
Decision InSmallestForms(const Graph& graph);

/// Sends each activation and saved tensor that a backward operation reads to the host after its
/// last forward use, frees its bytes one operation later and issues its way back one operation
/// before its first backward use. What the first backward operation reads stays, and so does what
/// would be away for no operation at all. Layrub's inter-layer rule.
void MoveBetweenPasses(const Graph& graph, const UseLists& uses, Decision* decision);

enum class InPlace {
  kSameRole,  ///< data on data, gradients on gradients
  kAnyRole,   ///< gradients on data too: Layrub's intra-layer rule
};
/// Lays outputs on inputs that nobody needs after their operation, as far as the chosen forms
/// allow, so that the most bytes are saved. Recomputations too: forms and gaps first. Operations
/// and tensors stay as long as they did.
void RunInPlace(const Graph& graph, const UseLists& uses, InPlace which, Decision* decision);

/// For each tensor, the operation that writes the next version of its blob; graph.ops.size() if
/// there is none.
std::vector<OpId> OverwrittenBy(const Graph& graph, const UseLists& uses);

/// Gives each operation the first form that reads nothing that was overwritten before; one without
/// such a form stays in the one that it has.
void AvoidOverwritten(const Graph& graph, const std::vector<OpId>& overwritten, Decision* decision);

/// Keeps all tensors for the whole iteration, the versions of a named blob in one range where
/// nobody needs the version before.
void KeepBlobsWhole(const Graph& graph, const UseLists& uses, Decision* decision);

}  // namespace layrub::placement::policies

#endif  // LAYRUB_PLACEMENT_POLICIES_COMMON_HPP_
