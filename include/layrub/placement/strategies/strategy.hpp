#ifndef LAYRUB_PLACEMENT_STRATEGIES_STRATEGY_HPP_
#define LAYRUB_PLACEMENT_STRATEGIES_STRATEGY_HPP_

#include <cstdint>
#include <string>
#include <vector>

#include "layrub/base/status.hpp"
#include "layrub/placement/cost/machine.hpp"
#include "layrub/placement/ir/graph.hpp"
#include "layrub/placement/ir/plan.hpp"
#include "layrub/placement/search/search_options.hpp"

namespace layrub {

/// Ok, or kInvalid listing the strategies there are if none is called `name`.
Status CheckStrategy(const std::string& name);
std::vector<std::string> StrategyNames();
/// What the strategy decides depends on its budget.
bool UsesBudget(const std::string& name);
/// The strategy decides by what things cost on a machine, and searches for that: a solver plans
/// again once it has measured the costs.
bool UsesCosts(const std::string& name);
/// The strategy leaves everything in its place, and so readable, where the budget allows that.
bool KeepsWhatFits(const std::string& name);

/// Everything in one call: decide, schedule, pack. kDoesNotFit carries a sentence that names the
/// operation at the peak, the bytes needed, the flag to paste (--device_memory=<n>) and the
/// strategies that do fit.
Result<Plan> MakePlan(const Graph& graph, const Machine& machine, const Budget& budget,
                      const std::string& strategy, int64_t padding = 0);
/// The same, whether the plan fits the budget or not: for a budget of 0, the smallest that the
/// strategy makes. `options` are for auto.
Result<Plan> MakePlanOfAnySize(const Graph& graph, const Machine& machine, const Budget& budget,
                               const std::string& strategy, int64_t padding = 0,
                               const SearchOptions& options = {});

}  // namespace layrub

#endif  // LAYRUB_PLACEMENT_STRATEGIES_STRATEGY_HPP_
