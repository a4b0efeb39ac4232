#ifndef CAFFE_SOLVER_PLANS_HPP_
#define CAFFE_SOLVER_PLANS_HPP_

#include <cstdint>
#include <memory>
#include <vector>

#include "caffe/placement.hpp"
#include "layrub/placement/ir/graph.hpp"
#include "layrub/placement/ir/plan.hpp"

namespace caffe {

/// What the nets of a solver do in memory: the net to train, with the solver's history, and the
/// test nets, which use its parameters.
struct SolverGraphs {
  layrub::Graph train;
  std::vector<layrub::Graph> tests;
};

/// What `options` ask of graphs themselves: that workspaces are reproducible. kInvalid where there
/// are none.
layrub::Status MeetOptions(const PlacementOptions& options, SolverGraphs* graphs);

/// A plan, and its device bytes: those that hold something between passes, and the others.
struct SizedPlan {
  std::shared_ptr<const layrub::Plan> plan;
  int64_t resident = 0;
  int64_t transient = 0;
};

/// Plans for all nets of a solver. Plain data.
struct SolverPlans {
  SizedPlan train;
  std::vector<SizedPlan> tests;
  /// The nets, which never run at the same time, share the bytes that hold nothing between passes:
  /// there are as many as the most demanding net needs.
  bool share_memory = false;
  int64_t largest_transient = 0;
  int64_t device_bytes = 0;  ///< of all nets together
};

/// Plans as `options` say: the train net's within its budget, less what test nets keep, or
/// `options.plan`, which must be within it; the test nets have bytes of their own where the budget
/// allows it, otherwise they share the train net's. kDoesNotFit or kInvalid as layrub::MakePlan; a
/// test net that does not fit is named.
layrub::Result<SolverPlans> PlanNets(const SolverGraphs& graphs, PlacementOptions options);

/// What no plan of the training net takes less than: layrub::StateFloorBytes, or, where state may
/// not leave the device, layrub::FloorBytes.
int64_t LeastBytes(const SolverGraphs& graphs, const PlacementOptions& options);

/// The plans of the strategy that take the fewest device bytes, whatever the budget says; host
/// bytes are limited by it. `device_bytes` is the smallest budget with which PlanNets has a plan.
layrub::Result<SolverPlans> SmallestPlans(const SolverGraphs& graphs, PlacementOptions options);

}  // namespace caffe

#endif  // CAFFE_SOLVER_PLANS_HPP_
