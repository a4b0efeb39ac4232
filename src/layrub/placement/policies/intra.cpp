#include <algorithm>

#include "layrub/placement/policies/common.hpp"
#include "layrub/placement/policies/policies.hpp"

namespace layrub::placement::policies {
namespace {

/// OverwrittenBy, where the first backward operation that can write a gradient on a tensor does.
std::vector<OpId> OverwrittenByGradients(const Graph& graph, const UseLists& uses) {
  std::vector<OpId> overwritten = OverwrittenBy(graph, uses);
  for (OpId o = FirstOp(graph, Pass::kBackward); o < static_cast<OpId>(graph.ops.size()); ++o) {
    for (const Form& form : graph.ops[o].forms) {
      for (const AliasPair& pair : form.may_alias) {
        overwritten[pair.input] = std::min(overwritten[pair.input], o);
      }
    }
  }
  return overwritten;
}

}  // namespace

// The lifetimes of `keep`, and the gradient of a blob lies on the blob's own bytes wherever a form
// of the backward allows it: backwards take forms that need no data under a gradient, where there
// are such (a mask instead of y). Nothing is moved. Source: Layrub (PPoPP 2018 poster; ACM TACO
// 15(3), article 37, 2018), intra-layer strategy.
Result<Decision> Intra(const Graph& graph, const Machine&, const Budget&) {
  Decision decision = DefaultDecision(graph);
  const UseLists uses = FindUses(graph, decision.runs);
  AvoidOverwritten(graph, OverwrittenBy(graph, uses), &decision);
  AvoidOverwritten(graph, OverwrittenByGradients(graph, uses), &decision);
  const UseLists final_uses = FindUses(graph, decision.runs);
  KeepBlobsWhole(graph, final_uses, &decision);
  RunInPlace(graph, final_uses, InPlace::kAnyRole, &decision);
  return decision;
}

}  // namespace layrub::placement::policies
