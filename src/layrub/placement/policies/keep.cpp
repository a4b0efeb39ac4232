#include "layrub/placement/cost/scratch.hpp"
#include "layrub/placement/policies/common.hpp"
#include "layrub/placement/policies/policies.hpp"

namespace layrub::placement::policies {

// As in Caffe: each named blob owns one range for its data and one for its diff for the whole
// iteration, whatever the number of its versions; what a forward saves for its backward is private;
// scratch is shared, and each operation is granted what it needs of it up to a fixed cap. A version
// that the net cannot do without (Caffe would compute wrong gradients there) gets a range of its
// own.
Result<Decision> Keep(const Graph& graph, const Machine&, const Budget&) {
  Decision decision = DefaultDecision(graph);
  AvoidOverwritten(graph, OverwrittenBy(graph, FindUses(graph, decision.runs)), &decision);
  KeepBlobsWhole(graph, FindUses(graph, decision.runs), &decision);
  for (Run& run : decision.runs) {
    const int32_t granted = cost::GrantedScratch(graph, FormOf(graph, run));
    if (granted != kNone) run.scratch = granted;
  }
  return decision;
}

}  // namespace layrub::placement::policies
