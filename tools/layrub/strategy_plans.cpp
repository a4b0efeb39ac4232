#include "layrub/strategy_plans.hpp"

#include <vector>

#include "layrub/base/in_parallel.hpp"

namespace layrub_tool {

using caffe::PlacementOptions;
using caffe::SolverPlans;
using layrub::Result;

bool Within(const layrub::Budget& budget, const SolverPlans& plans) {
  return plans.device_bytes <= budget.device && FitsOffDevice(*plans.train.plan, budget);
}

PlacementOptions WithAnyStrategy(PlacementOptions options) {
  options.strategy = PlacementOptions().strategy;
  return options;
}

void StrategyPlans::BeginSmallest(const std::string& strategy) {
  begun_.emplace(strategy, std::async(kAsyncIfPossible, [this, strategy] {
                   return SmallestPlans(graphs_, For(strategy));
                 }));
}

void StrategyPlans::FindSmallest(const std::function<void()>& found) {
  const std::vector<std::string> names = layrub::StrategyNames();
  std::vector<Result<SolverPlans>> plans(names.size(), layrub::Status());
  layrub::InParallel(names.size(), [&](size_t i) {
    plans[i] = SmallestPlans(graphs_, For(names[i]));
    found();
  });
  for (size_t i = 0; i < names.size(); ++i) smallest_.emplace(names[i], plans[i]);
}

const Result<SolverPlans>& StrategyPlans::Smallest(const std::string& strategy) {
  const auto known = smallest_.find(strategy);
  if (known != smallest_.end()) return known->second;
  const auto begun = begun_.find(strategy);
  return smallest_
      .emplace(strategy,
               begun != begun_.end() ? begun->second.get() : SmallestPlans(graphs_, For(strategy)))
      .first->second;
}

Result<SolverPlans> StrategyPlans::WithinBudget(const std::string& strategy,
                                                const layrub::Budget& budget) {
  PlacementOptions options = For(strategy);
  options.budget = budget;
  if (!layrub::UsesBudget(strategy) && CanFit(strategy, budget))
    options.plan = Smallest(strategy).value().train.plan;
  return PlanNets(graphs_, options);
}

std::optional<int64_t> StrategyPlans::SmallestBytes(const std::string& strategy) {
  const Result<SolverPlans>& smallest = Smallest(strategy);
  if (smallest.ok() && FitsOffDevice(*smallest.value().train.plan, options_.budget))
    return smallest.value().device_bytes;
  if (!layrub::UsesCosts(strategy)) return {};
  // The smallest plan of a strategy that searches may need too much of the host. It also tries the
  // other strategies, so their smallest budgets are known to suffice.
  std::optional<int64_t> least;
  for (const std::string& other : layrub::StrategyNames()) {
    if (layrub::UsesCosts(other)) continue;
    const std::optional<int64_t> bytes = SmallestBytes(other);
    if (bytes && (!least || *bytes < *least)) least = bytes;
  }
  return least;
}

bool StrategyPlans::CanFit(const std::string& strategy, const layrub::Budget& budget) {
  const Result<SolverPlans>& smallest = Smallest(strategy);
  return smallest.ok() && Within(budget, smallest.value());
}

PlacementOptions StrategyPlans::For(const std::string& strategy) const {
  PlacementOptions options = options_;
  options.strategy = strategy;
  return options;
}

}  // namespace layrub_tool
