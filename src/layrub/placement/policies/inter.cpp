#include "layrub/placement/policies/common.hpp"
#include "layrub/placement/policies/policies.hpp"

namespace layrub::placement::policies {

// What backward needs of the forward is in the host tier meanwhile; everything else, gradients
// above all, lives as under `liveness`. Source: Layrub (PPoPP 2018 poster; ACM TACO 15(3), article
// 37, 2018), inter-layer strategy.
Result<Decision> Inter(const Graph& graph, const Machine&, const Budget&) {
  Decision decision = InSmallestVariants(graph);
  const UseLists uses = FindUses(graph, decision.runs);
  RunInPlace(graph, uses, InPlace::kSameRole, &decision);
  MoveBetweenPasses(graph, uses, &decision);
  return decision;
}

}  // namespace layrub::placement::policies
