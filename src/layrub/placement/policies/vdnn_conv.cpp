#include "layrub/placement/policies/policies.hpp"
#include "layrub/placement/policies/vdnn.hpp"

namespace layrub::placement::policies {

// Offloads the inputs of conv-like operations, whose arithmetic hides the copies; takes the
// smallest workspaces. Source: vDNN (MICRO-49, 2016), policy vDNN_conv with memory-optimal
// algorithms.
Result<Program> VdnnConv(const Graph& graph, const Machine&, const Budget&) {
  return OffloadInputs(graph, Offload::kConv);
}

}  // namespace layrub::placement::policies
