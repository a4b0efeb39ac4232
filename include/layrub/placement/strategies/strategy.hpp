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

/// Returns Ok, or kInvalid listing the strategies if none is called `name`.
Status CheckStrategy(const std::string& name);
std::vector<std::string> StrategyNames();
/// Whether the strategy's choice depends on the budget.
bool UsesBudget(const std::string& name);
/// Whether the strategy searches, by what things cost on a machine. A solver plans again with such
/// a strategy once it has measured the costs.
bool UsesCosts(const std::string& name);
/// Whether the strategy leaves every tensor in its place, and so readable, if the budget allows
/// that.
bool KeepsWhatFits(const std::string& name);

/// Makes a plan: decides, schedules and packs. `padding` bytes are left between ranges. If the plan
/// does not fit the budget, returns kDoesNotFit with a sentence that names the operation at the
/// peak, the bytes needed, the flag to paste (--device_memory=<n>) and the strategies that do fit.
Result<Plan> MakePlan(const Graph& graph, const Machine& machine, const Budget& budget,
                      const std::string& strategy, int64_t padding = 0);
/// As MakePlan, but returns the plan whether it fits the budget or not. For a budget of 0 it is the
/// smallest plan of the strategy. `options` are for auto.
Result<Plan> MakePlanOfAnySize(const Graph& graph, const Machine& machine, const Budget& budget,
                               const std::string& strategy, int64_t padding = 0,
                               const SearchOptions& options = {});

}  // namespace layrub

#endif  // LAYRUB_PLACEMENT_STRATEGIES_STRATEGY_HPP_
