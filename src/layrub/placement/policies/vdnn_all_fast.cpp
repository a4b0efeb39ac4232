#include "layrub/placement/policies/policies.hpp"
#include "layrub/placement/policies/vdnn.hpp"

namespace layrub::placement::policies {

// As VdnnAll, but with the fastest workspaces, whatever they need. Source: vDNN (MICRO-49, 2016),
// policy vDNN_all with performance-optimal algorithms.
Result<Decision> VdnnAllFast(const Graph& graph, const Machine& machine, const Budget&) {
  return InFastestWorkspaces(graph, machine, OffloadInputs(graph, Offload::kAll));
}

}  // namespace layrub::placement::policies
