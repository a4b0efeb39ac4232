#include "layrub/placement/policies/policies.hpp"
#include "layrub/placement/policies/vdnn.hpp"

namespace layrub::placement::policies {

// As VdnnConv, but with the fastest algorithms, however large their workspaces. Source: vDNN
// (MICRO-49, 2016), policy vDNN_conv with performance-optimal algorithms.
Result<Program> VdnnConvFast(const Graph& graph, const Machine& machine, const Budget&) {
  return WithFastestAlgorithms(graph, machine, OffloadInputs(graph, Offload::kConv));
}

}  // namespace layrub::placement::policies
