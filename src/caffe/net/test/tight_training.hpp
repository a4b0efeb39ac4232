#ifndef CAFFE_NET_TEST_TIGHT_TRAINING_HPP_
#define CAFFE_NET_TEST_TIGHT_TRAINING_HPP_

#include <string>
#include <vector>

#include "caffe/net/test/training.hpp"
#include "layrub/placement/test/strategy_kinds.hpp"

namespace caffe {

/// Returns `param` with the smallest budget in which its strategy has a plan for its net. State
/// stays on the device unless `offload_state`.
inline SolverParameter WithinSmallestBudget(SolverParameter param,
                                            const layrub::Budget& budget = {}) {
  OpenSolver free(param);
  CHECK(free.Place().ok());
  param.mutable_placement()->set_device_memory(BudgetFor(layrub::testing::SmallestBudget(
      free.net()->planned()->executor().graph(), param.placement().strategy(), budget)));
  return param;
}

/// Expects that `net` trains to the same bits as without a plan, under strategies of each kind,
/// with poison, without a budget and within the smallest budget of each.
inline void ExpectBitsOfUnplannedTraining(const NetParameter& net, int iterations) {
  OpenSolver reference(SolverFor(net));
  const std::vector<float> unplanned = TrainUnplanned(&reference, iterations);
  ASSERT_TRUE(AllFinite(unplanned));
  for (const string strategy : {"keep", "liveness", "intra", "inter", "hybrid", "superneurons"}) {
    for (const bool tight : {false, true}) {
      const SolverParameter param = SolverFor(net, strategy);
      OpenSolver solver(tight ? WithinSmallestBudget(param) : param);
      solver.mutable_placement_extra()->executor.poison = true;
      solver.Step(iterations);
      EXPECT_TRUE(SameBits(TrainedState(&solver), unplanned)) << strategy << " " << tight;
    }
  }
}

}  // namespace caffe

#endif  // CAFFE_NET_TEST_TIGHT_TRAINING_HPP_
