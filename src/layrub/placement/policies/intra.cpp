#include <algorithm>

#include "layrub/placement/policies/common.hpp"
#include "layrub/placement/policies/policies.hpp"

namespace layrub::placement::policies {
namespace {

/// OverwrittenBy as if each gradient that can lie on a tensor did, from the first backward
/// operation that can write one there.
std::vector<OpId> OverwrittenByGradients(const Graph& graph, const UseLists& uses) {
  std::vector<OpId> overwritten = OverwrittenBy(graph, uses);
  for (OpId o = FirstOp(graph, Pass::kBackward); o < static_cast<OpId>(graph.ops.size()); ++o) {
    for (const Variant& variant : graph.ops[o].variants) {
      for (const AliasPair& pair : variant.may_alias) {
        overwritten[pair.input] = std::min(overwritten[pair.input], o);
      }
    }
  }
  return overwritten;
}

}  // namespace

// Lifetimes are those of `keep`, but the gradient of a blob lies on the blob's own bytes wherever a
// variant of the backward allows it. For that, backwards take variants that do not need the data
// under a gradient, if there are any (a mask instead of y). Nothing is moved. Source: Layrub (PPoPP
// 2018 poster; ACM TACO 15(3), article 37, 2018), intra-layer strategy.
Result<Program> Intra(const Graph& graph, const Machine&, const Budget&) {
  Program program = DefaultProgram(graph);
  const UseLists uses = FindUses(graph, program.runs);
  AvoidOverwritten(graph, OverwrittenBy(graph, uses), &program);
  AvoidOverwritten(graph, OverwrittenByGradients(graph, uses), &program);
  const UseLists final_uses = FindUses(graph, program.runs);
  KeepBlobsWhole(graph, final_uses, &program);
  RunInPlace(graph, final_uses, InPlace::kAnyRole, &program);
  return program;
}

}  // namespace layrub::placement::policies
