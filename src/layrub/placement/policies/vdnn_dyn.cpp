#include <utility>
#include <vector>

#include "layrub/placement/cost/scratch.hpp"
#include "layrub/placement/policies/policies.hpp"
#include "layrub/placement/policies/trial.hpp"
#include "layrub/placement/policies/vdnn.hpp"

namespace layrub::placement::policies {

// The first of these that fits: the fastest workspaces and nothing moved, the inputs of conv-like
// operations, all inputs; then the fastest workspaces that there is room for at each operation
// under the conv policy, and under the all policy. Where not even its smallest workspaces fit a
// policy is passed over, so that the smallest budget is the least of five plans that no budget
// changes. Source: vDNN (MICRO-49, 2016), dynamic policy: its first step, whether "all" with
// the smallest workspaces can be trained at all, follows from the others here.
Result<Decision> VdnnDyn(const Graph& graph, const Machine& machine, const Budget& budget) {
  Trial trial(graph, budget);
  std::vector<Decision> smallest;  // of the policies for which there are faster workspaces
  for (const Offload which : {Offload::kNothing, Offload::kConv, Offload::kAll}) {
    Decision decision = OffloadInputs(graph, which);
    Decision fastest = InFastestWorkspaces(graph, machine, decision);
    const bool faster = fastest.runs != decision.runs;
    if (trial.Fits(std::move(fastest))) return trial.Best();
    if (faster && which != Offload::kNothing) smallest.push_back(std::move(decision));
  }
  for (Decision& decision : smallest) {
    if (!trial.Fits(decision)) continue;
    cost::TakeFastestScratch(graph, machine, DeviceBytes(budget), &decision);
    trial.Fits(std::move(decision));
    return trial.Best();
  }
  return trial.Best();
}

}  // namespace layrub::placement::policies
