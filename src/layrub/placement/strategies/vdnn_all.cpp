#include "layrub/placement/strategies/strategies.hpp"
#include "layrub/placement/strategies/vdnn.hpp"

namespace layrub {

// The input of every layer that does not run in place leaves; the smallest workspaces. Source: vDNN
// (MICRO-49, 2016), policy vDNN_all with memory-optimal algorithms.
Result<Decision> VdnnAll(const Graph& graph, const Machine&, const Budget&) {
  return OffloadInputs(graph, Offload::kAll);
}

}  // namespace layrub
