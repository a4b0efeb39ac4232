#include "layrub/placement/policies/common.hpp"
#include "layrub/placement/policies/policies.hpp"

namespace layrub::placement::policies {

// `inter` and `intra` together: activations are in the host tier between their last forward and
// their first backward use, and gradients lie on the bytes of what their operation reads last, data
// or gradient. Source: Layrub (PPoPP 2018 poster; ACM TACO 15(3), article 37, 2018), hybrid
// strategy.
Result<Decision> Hybrid(const Graph& graph, const Machine&, const Budget&) {
  Decision decision = InSmallestVariants(graph);
  const UseLists uses = FindUses(graph, decision.runs);
  MoveBetweenPasses(graph, uses, &decision);
  RunInPlace(graph, uses, InPlace::kAnyRole, &decision);
  return decision;
}

}  // namespace layrub::placement::policies
