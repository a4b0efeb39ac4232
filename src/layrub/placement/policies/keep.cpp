#include "layrub/placement/cost/fastest_algorithms.hpp"
#include "layrub/placement/policies/common.hpp"
#include "layrub/placement/policies/policies.hpp"

namespace layrub::placement::policies {

// As in Caffe, each named blob owns one range for its data and one for its diff for the whole
// iteration, however many versions it has. What a forward saves for its backward has a range of its
// own. Workspaces share their bytes, and each operation gets the algorithm that DefaultAlgorithm
// chooses, with a workspace up to a fixed limit. A version that is still needed after a later one
// was written (Caffe would compute wrong gradients there) gets a range of its own.
Result<Decision> Keep(const Graph& graph, const Machine&, const Budget&) {
  Decision decision = DefaultDecision(graph);
  AvoidOverwritten(graph, OverwrittenBy(graph, FindUses(graph, decision.runs)), &decision);
  KeepBlobsWhole(graph, FindUses(graph, decision.runs), &decision);
  for (Run& run : decision.runs) {
    const int32_t granted = cost::DefaultAlgorithm(graph, VariantOf(graph, run));
    if (granted != kNone) run.algorithm = granted;
  }
  return decision;
}

}  // namespace layrub::placement::policies
