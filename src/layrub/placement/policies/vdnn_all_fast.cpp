#include "layrub/placement/policies/policies.hpp"
#include "layrub/placement/policies/vdnn.hpp"

namespace layrub::placement::policies {

// As VdnnAll, but with the fastest algorithms, however large their workspaces. Source: vDNN
// (MICRO-49, 2016), policy vDNN_all with performance-optimal algorithms.
Result<Program> VdnnAllFast(const Graph& graph, const Machine& machine, const Budget&) {
  return WithFastestAlgorithms(graph, machine, OffloadInputs(graph, Offload::kAll));
}

}  // namespace layrub::placement::policies
