#ifndef LAYRUB_PLACEMENT_TEST_STRATEGY_KINDS_HPP_
#define LAYRUB_PLACEMENT_TEST_STRATEGY_KINDS_HPP_

#include <algorithm>
#include <cstdint>
#include <set>
#include <string>
#include <utility>

#include "layrub/placement/ir/graph.hpp"
#include "layrub/placement/ir/plan.hpp"
#include "layrub/placement/ir/program.hpp"
#include "layrub/placement/strategies/strategy.hpp"

namespace layrub::testing {

using namespace placement;  // NOLINT(google-build-using-namespace): tests look inside

/// Whether the strategy uses its budget and does no more than that requires: it moves and
/// recomputes nothing if everything fits.
inline bool Adapts(const std::string& strategy) { return UsesBudget(strategy); }

/// Whether the strategy uses the host tier whatever its budget is.
inline bool Moves(const std::string& strategy) {
  static const std::set<std::string> movers{"inter",         "hybrid",    "vdnn_all",
                                            "vdnn_all_fast", "vdnn_conv", "vdnn_conv_fast"};
  return movers.count(strategy) == 1;
}

/// Whether the strategy recomputes whatever its budget is.
inline bool Recomputes(const std::string& strategy) { return strategy == "sqrt"; }

/// The smallest device budget within which the strategy has a plan.
inline int64_t SmallestBudget(const Graph& graph, const std::string& strategy, Budget budget = {}) {
  budget.device = 0;
  return MakePlanOfAnySize(graph, {}, budget, strategy).value().device_bytes;
}

/// The plan of the strategy within its smallest budget; `padding` between ranges comes on top.
inline Plan PlanTightly(const Graph& graph, const std::string& strategy, int64_t padding = 0) {
  const Budget budget{.device = SmallestBudget(graph, strategy)};
  return MakePlanOfAnySize(graph, {}, budget, strategy, padding).value();
}

/// The same with a file in place of host memory.
inline Plan PlanTightlyWithFile(const Graph& graph, const std::string& strategy) {
  Budget budget{.host = 0, .spill = kUnlimitedBudget.spill};
  budget.device = SmallestBudget(graph, strategy, budget);
  return MakePlanOfAnySize(graph, {}, budget, strategy, 0).value();
}

/// A plan without feeds, with everything from host memory in a file.
inline Plan InFile(Plan plan) {
  const auto to_file = [](Tier* tier) { *tier = *tier == Tier::kHost ? Tier::kFile : *tier; };
  // Operations use state in host memory that is never copied.
  std::set<TensorId> copied;
  for (const Step& step : plan.steps) {
    if (step.kind == StepKind::kCopy) copied.insert(step.tensor);
  }
  for (Home& home : plan.homes) {
    if (copied.count(home.tensor) > 0) to_file(&home.tier);
  }
  for (Step& step : plan.steps) {
    to_file(&step.tier);
    to_file(&step.from);
    if (step.lane == Lane::kSave) step.lane = Lane::kSpill;
    if (step.lane == Lane::kLoad) step.lane = Lane::kFetch;
  }
  plan.spill_bytes = plan.host_bytes;
  return plan;
}

/// The number of recomputations of a plan.
inline int Recomputed(const Plan& plan) {
  return static_cast<int>(std::count_if(plan.steps.begin(), plan.steps.end(),
                                        [](const Step& step) { return step.recompute; }));
}

/// Bytes that one iteration copies to the host tier.
inline int64_t BytesOffloaded(const Graph& graph, const Plan& plan) {
  int64_t bytes = 0;
  for (const Step& step : plan.steps) {
    if (IsOffload(step)) bytes += CopiedBytes(graph, step);
  }
  return bytes;
}

}  // namespace layrub::testing

#endif  // LAYRUB_PLACEMENT_TEST_STRATEGY_KINDS_HPP_
