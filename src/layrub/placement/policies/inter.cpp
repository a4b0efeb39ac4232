#include "layrub/placement/policies/common.hpp"
#include "layrub/placement/policies/policies.hpp"

namespace layrub::placement::policies {

// What backward needs of the forward is in the host tier meanwhile; everything else, gradients
// above all, lives as under `liveness`. Source: Layrub (PPoPP 2018 poster; ACM TACO 15(3), article
// 37, 2018), inter-layer strategy.
Result<Program> Inter(const Graph& graph, const Machine&, const Budget&) {
  Program program = InSmallestVariants(graph);
  const UseLists uses = FindUses(graph, program.runs);
  RunInPlace(graph, uses, InPlace::kSameRole, &program);
  MoveBetweenPasses(graph, uses, &program);
  return program;
}

}  // namespace layrub::placement::policies
