#include "layrub/comparison.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

#include "layrub/base/bytes.hpp"
#include "layrub/base/in_parallel.hpp"
#include "layrub/placement/cost/shared_link.hpp"
#include "layrub/plan_report.hpp"
#include "layrub/strategy_plans.hpp"
#include "shared/progress.hpp"

namespace layrub_tool {

using caffe::PlacementOptions;
using caffe::SolverGraphs;
using caffe::SolverPlans;
using layrub::Graph;
using layrub::Result;

namespace {

/// Budgets for a strategy that uses its budget, as multiples of the floor. Its smallest budget and
/// what keep takes are added.
constexpr double kRungs[] = {1.05, 1.1, 1.25, 1.5, 2, 3, 5, 10};
/// Budgets below the floor, as multiples of the state floor.
constexpr double kStateRungs[] = {1.25, 2, 4};
/// Points of the curve of the time floor, in equal ratios.
constexpr int kFloorPoints = 24;

/// Budgets from the smallest that fits up to what keep takes, but at most `limit`. Only `limit` if
/// none fits.
std::vector<int64_t> Ladder(std::optional<int64_t> smallest, const Comparison& made,
                            int64_t limit) {
  if (!smallest || *smallest > limit) return {limit};
  const int64_t most = std::min(std::max(made.keep_bytes, *smallest), limit);
  std::vector<int64_t> budgets = {*smallest};
  const auto add = [&](double rung, int64_t bytes, int64_t end) {
    const auto budget = static_cast<int64_t>(rung * static_cast<double>(bytes));
    if (budget > *smallest && budget < end) budgets.push_back(budget);
  };
  for (const double rung : kStateRungs)
    add(rung, made.state_floor_bytes, std::min(most, made.floor_bytes));
  for (const double rung : kRungs) add(rung, made.floor_bytes, most);
  if (most > *smallest) budgets.push_back(most);
  return budgets;
}

/// The plans to make: an entry for each strategy and budget.
std::vector<ComparedPlan> Wanted(const PlacementOptions& options,
                                 const std::vector<int64_t>& budgets, const Comparison& made,
                                 StrategyPlans* strategies) {
  std::vector<ComparedPlan> wanted;
  for (const std::string& strategy : layrub::StrategyNames()) {
    std::vector<int64_t> tried = budgets;
    if (tried.empty()) {
      tried = Ladder(strategies->SmallestBytes(strategy), made, options.budget.device);
      if (!layrub::UsesBudget(strategy)) tried.resize(1);
    }
    for (const int64_t budget : tried) {
      ComparedPlan plan;
      plan.strategy = strategy;
      plan.budget_bytes = LimitOf(budget);
      wanted.push_back(plan);
    }
  }
  return wanted;
}

/// Removes the entries in which a larger budget gives the same plan.
void DropRepeated(std::vector<ComparedPlan>* plans) {
  const auto same = [](const ComparedPlan& a, const ComparedPlan& b) {
    return a.strategy == b.strategy && a.fits && b.fits && a.device_bytes == b.device_bytes &&
           a.host_bytes == b.host_bytes && a.spill_bytes == b.spill_bytes && a.seconds == b.seconds;
  };
  plans->erase(std::unique(plans->begin(), plans->end(), same), plans->end());
}

/// Budgets for the curve of the time floor: from the state floor to the bytes of the largest plan.
std::vector<FloorPoint> FloorBudgets(const Comparison& comparison) {
  int64_t most = std::max(comparison.floor_bytes, comparison.keep_bytes);
  for (const ComparedPlan& plan : comparison.plans) most = std::max(most, plan.device_bytes);
  std::vector<FloorPoint> points;
  const double ratio =
      static_cast<double>(most) / static_cast<double>(comparison.state_floor_bytes);
  for (int i = 0; i <= kFloorPoints; ++i) {
    const double factor = std::pow(ratio, static_cast<double>(i) / kFloorPoints);
    points.push_back({std::llround(static_cast<double>(comparison.state_floor_bytes) * factor), 0});
  }
  return points;
}

}  // namespace

bool Comparison::anything_fits() const {
  return std::any_of(plans.begin(), plans.end(),
                     [](const ComparedPlan& plan) { return plan.fits; });
}

Result<Comparison> CompareStrategies(const std::string& net, const SolverGraphs& graphs,
                                     const PlacementOptions& options,
                                     const std::vector<int64_t>& budgets) {
  const PlacementOptions best = WithAnyStrategy(options);
  const Graph& graph = SmallestGraph(graphs, best);
  std::optional<tools::Progress> progress;
  StrategyPlans strategies(graphs, options);
  progress.emplace("smallest budgets", layrub::StrategyNames().size());
  strategies.FindSmallest([&progress] { progress->Add(); });
  const Result<SolverPlans>& keep = strategies.Smallest("keep");
  if (!keep.ok()) return keep.status();

  Comparison made;
  made.net = net;
  made.machine = options.machine.name;
  made.floor_bytes = std::max<int64_t>(layrub::FloorBytes(graph), 1);
  made.state_floor_bytes = std::max<int64_t>(LeastBytes(graphs, best), 1);
  made.keep_bytes = keep.value().device_bytes;
  made.keep_seconds = Simulate(graphs.train, *keep.value().train.plan, options.machine).seconds;
  if (budgets.empty()) made.limit_bytes = LimitOf(options.budget.device);
  made.plans = Wanted(options, budgets, made, &strategies);
  progress.emplace("plans", made.plans.size());
  layrub::InParallel(made.plans.size(), [&](size_t i) {
    MakeComparedPlan(graphs, options, &strategies, &made.plans[i]);
    progress->Add();
  });
  if (budgets.empty()) DropRepeated(&made.plans);
  made.time_floor = FloorBudgets(made);
  progress.emplace("time floor", made.time_floor.size());
  layrub::InParallel(made.time_floor.size(), [&](size_t i) {
    FloorPoint& point = made.time_floor[i];
    point.seconds = TimeFloorOf(graphs, best, point.budget_bytes);
    progress->Add();
  });
  return made;
}

}  // namespace layrub_tool
