#include "layrub/placement/policies/common.hpp"
#include "layrub/placement/policies/policies.hpp"

namespace layrub::placement::policies {

// Each tensor has bytes from its first write to its last read. Operations run in place where nobody
// needs the input afterwards, data on data and gradients on gradients. Nothing is moved. Source:
// SuperNeurons (PPoPP 2018), liveness analysis.
Result<Program> Liveness(const Graph& graph, const Machine&, const Budget&) {
  Program program = InSmallestVariants(graph);
  RunInPlace(graph, FindUses(graph, program.runs), InPlace::kSameRole, &program);
  return program;
}

}  // namespace layrub::placement::policies
