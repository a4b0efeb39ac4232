#ifndef CAFFE_SOLVER_PLANS_HPP_
#define CAFFE_SOLVER_PLANS_HPP_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "caffe/placement.hpp"
#include "layrub/placement/ir/graph.hpp"
#include "layrub/placement/ir/plan.hpp"

namespace caffe {

/// A plan and its device bytes: those that hold something between passes (resident), and the others
/// (transient).
struct SizedPlan {
  std::shared_ptr<const layrub::Plan> plan;
  int64_t resident = 0;
  int64_t transient = 0;
  bool transient_gradients = false;  ///< for SolverGraphs::updating instead of SolverGraphs::train
  bool feeds_parameters = false;     ///< of SolverGraphs::feeding_tests instead of tests
  Slicing slicing = {};  ///< if it has several parts: for one of SolverGraphs::sliced, sliced_tests
};

/// The train net with some layers in slices.
struct SlicedGraph {
  Slicing slicing;
  layrub::Graph train;
};

/// A test net with some layers in slices.
struct SlicedTest {
  Slicing slicing;
  layrub::Graph test;
  std::optional<layrub::Graph> feeding = {};  ///< if there are SolverGraphs::feeding_tests
};

/// The graphs of a solver's nets: the train net, with the solver's history, and the test nets,
/// which use its parameters.
struct SolverGraphs {
  layrub::Graph train;
  std::vector<layrub::Graph> tests;
  /// The test nets on a GPU when parameters are at home off the device (Net::MemoryGraph with
  /// feeds_parameters). Empty on a CPU, which reads them there, and if a test net writes some.
  std::vector<layrub::Graph> feeding_tests = {};
  /// The train net with transient gradients (see Net::MemoryGraph). Empty if something needs the
  /// gradients; `why_gradients_stay` then says what, in words that follow "gradients stay: ".
  std::optional<layrub::Graph> updating = {};
  std::string why_gradients_stay = {};
  /// The train net in slices, fewest parts first; with transient gradients if `updating` is not
  /// empty. Empty if slices may not be used or do not help.
  std::vector<SlicedGraph> sliced = {};
  /// By test net: as many slices as help. Empty if slices may not be used.
  std::vector<std::optional<SlicedTest>> sliced_tests = {};

  /// The graph that a plan of the train net is for.
  const layrub::Graph& of(const SizedPlan& plan) const;
};

/// Applies the options that concern the graphs themselves, such as reproducible algorithms. Returns
/// kInvalid if an operation has no such algorithm.
layrub::Status ApplyOptions(const PlacementOptions& options, SolverGraphs* graphs);

/// Plans for all nets of a solver.
struct SolverPlans {
  SizedPlan train;
  std::vector<SizedPlan> tests;
  /// True if the nets, which never run at the same time, share their transient bytes: as many as
  /// the most demanding net needs.
  bool share_memory = false;
  int64_t largest_transient = 0;
  int64_t device_bytes = 0;  ///< of all nets together
};

/// Makes plans by `options`. The train net's plan is made within the budget, less what test nets
/// keep, or is `options.plan`, which must fit the budget. A strategy that keeps everything if the
/// budget allows it and adapts otherwise ("auto") then plans with transient gradients, if it may,
/// and if nothing fits, with slices.
/// Test nets have bytes of their own if the budget allows it; otherwise they share the train net's,
/// and run in slices if they need more than that.
/// Returns kDoesNotFit or kInvalid as layrub::MakePlan; the message says if it is a test net that
/// does not fit.
layrub::Result<SolverPlans> PlanNets(const SolverGraphs& graphs, PlacementOptions options);

/// Whether plans by `options` may use SolverGraphs::sliced and sliced_tests.
bool MaySlice(const PlacementOptions& options);

/// The graph of the train net, with layers that run whole, that the strategy of `options` plans in
/// the smallest budgets.
const layrub::Graph& SmallestGraph(const SolverGraphs& graphs, const PlacementOptions& options);

/// Returns the fewest bytes with which a plan of the train net can exist, in slices if these are
/// allowed: layrub::StateFloorBytes, or layrub::FloorBytes if state may not leave the device.
int64_t LeastBytes(const SolverGraphs& graphs, const PlacementOptions& options);

/// Returns the plans of the strategy with the fewest device bytes, regardless of the device budget;
/// host bytes are limited by the budget. Their `device_bytes` is the smallest budget for which
/// PlanNets has a plan.
layrub::Result<SolverPlans> SmallestPlans(const SolverGraphs& graphs, PlacementOptions options);

}  // namespace caffe

#endif  // CAFFE_SOLVER_PLANS_HPP_
