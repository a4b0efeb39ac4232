#include "layrub/placement/policies/policies.hpp"
#include "layrub/placement/policies/vdnn.hpp"

namespace layrub::placement::policies {

// Offloads the input of every layer that does not run in place; takes the smallest workspaces.
// Source: vDNN (MICRO-49, 2016), policy vDNN_all with memory-optimal algorithms.
Result<Program> VdnnAll(const Graph& graph, const Machine&, const Budget&) {
  return OffloadInputs(graph, Offload::kAll);
}

}  // namespace layrub::placement::policies
