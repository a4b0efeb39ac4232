#include <utility>
#include <vector>

#include "layrub/placement/cost/fastest_algorithms.hpp"
#include "layrub/placement/policies/policies.hpp"
#include "layrub/placement/policies/trial.hpp"
#include "layrub/placement/policies/vdnn.hpp"

namespace layrub::placement::policies {

// Takes the first of these that fits: the fastest workspaces with nothing moved, with the inputs of
// conv-like operations moved, and with all inputs moved; then the fastest workspaces for which each
// operation has bytes left, under the conv policy and under the all policy. A policy that does not
// fit even with its smallest workspaces is skipped, so that the smallest budget does not depend on
// the budget given. Source: vDNN (MICRO-49, 2016), dynamic policy. Its first step, whether "all"
// with the smallest workspaces can be trained at all, follows from the others here.
Result<Program> VdnnDyn(const Graph& graph, const Machine& machine, const Budget& budget) {
  Trial trial(graph, budget);
  std::vector<Program> smallest;  // of the policies for which there are faster workspaces
  for (const Offload which : {Offload::kNothing, Offload::kConv, Offload::kAll}) {
    Program program = OffloadInputs(graph, which);
    Program fastest = WithFastestAlgorithms(graph, machine, program);
    const bool faster = fastest.runs != program.runs;
    if (trial.Fits(std::move(fastest))) return trial.Best();
    if (faster && which != Offload::kNothing) smallest.push_back(std::move(program));
  }
  for (Program& program : smallest) {
    if (!trial.Fits(program)) continue;
    cost::TakeFastestAlgorithms(graph, machine, DeviceBytes(budget), &program);
    trial.Fits(std::move(program));
    return trial.Best();
  }
  return trial.Best();
}

}  // namespace layrub::placement::policies
