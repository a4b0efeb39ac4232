#include "layrub/placement/policies/common.hpp"
#include "layrub/placement/policies/policies.hpp"

namespace layrub::placement::policies {

// `inter` and `intra` together: activations are in the host tier between their last forward and
// their first backward use, and gradients lie on the bytes of what their operation reads last, data
// or gradient. Source: Layrub (PPoPP 2018 poster; ACM TACO 15(3), article 37, 2018), hybrid
// strategy.
Result<Program> Hybrid(const Graph& graph, const Machine&, const Budget&) {
  Program program = InSmallestVariants(graph);
  const UseLists uses = FindUses(graph, program.runs);
  MoveBetweenPasses(graph, uses, &program);
  RunInPlace(graph, uses, InPlace::kAnyRole, &program);
  return program;
}

}  // namespace layrub::placement::policies
