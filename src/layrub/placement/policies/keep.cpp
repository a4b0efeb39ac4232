#include "layrub/placement/cost/fastest_algorithms.hpp"
#include "layrub/placement/policies/common.hpp"
#include "layrub/placement/policies/policies.hpp"

namespace layrub::placement::policies {

// As in Caffe, each named blob owns one range for its data and one for its diff for the whole
// iteration, however many versions it has. What a forward saves for its backward has a range of its
// own. Workspaces share their bytes, and each operation gets the algorithm that DefaultAlgorithm
// chooses, with a workspace up to a fixed limit. A version that is still needed after a later one
// was written (Caffe would compute wrong gradients there) gets a range of its own.
Result<Program> Keep(const Graph& graph, const Machine&, const Budget&) {
  Program program = DefaultProgram(graph);
  AvoidOverwritten(graph, OverwrittenBy(graph, FindUses(graph, program.runs)), &program);
  KeepBlobsWhole(graph, FindUses(graph, program.runs), &program);
  for (Run& run : program.runs) {
    const int32_t granted = cost::DefaultAlgorithm(graph, VariantOf(graph, run));
    if (granted != kNone) run.algorithm = granted;
  }
  return program;
}

}  // namespace layrub::placement::policies
