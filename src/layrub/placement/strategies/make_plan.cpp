#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "layrub/base/bytes.hpp"
#include "layrub/base/text.hpp"
#include "layrub/placement/cost/fastest_algorithms.hpp"
#include "layrub/placement/cost/floor.hpp"
#include "layrub/placement/schedule/schedule.hpp"
#include "layrub/placement/strategies/strategies.hpp"
#include "layrub/placement/strategies/strategy.hpp"

namespace layrub {
namespace {

using placement::schedule::Choice;

/// The strategy needs `needed` bytes of `what`, but there are `budget`; `flag` would give it
/// enough.
Status DoesNotFit(const std::string& strategy, const std::string& what, int64_t needed,
                  int64_t budget, const std::string& flag) {
  return Status::DoesNotFit("strategy " + strategy + " needs " + FormatBytes(needed) + " (" +
                            std::to_string(needed) + " bytes) of " + what + ", the budget is " +
                            FormatBytes(budget) + "; " + flag + "=" + std::to_string(needed));
}

Status CheckBudget(const Graph& graph, const Plan& plan, const Budget& budget) {
  if (const int64_t needed = plan.device_bytes + budget.reserved; needed > budget.device) {
    const Peak peak = FindPeak(graph, plan);
    const std::string where = peak.op == kNone ? "" : " at " + graph.ops[peak.op].name;
    return DoesNotFit(plan.strategy, "device memory" + where, needed, budget.device,
                      "its smallest budget is --device_memory");
  }
  // With more device memory, a strategy that looks at its budget might need less host memory.
  if (plan.host_bytes > budget.host)
    return DoesNotFit(plan.strategy, "host memory", plan.host_bytes, budget.host,
                      "it fits with --host_memory");
  if (plan.spill_bytes > budget.spill)
    return DoesNotFit(plan.strategy,
                      "the spill file beside " + FormatBytes(plan.device_bytes) +
                          " of device memory and " + FormatBytes(plan.host_bytes) +
                          " of host memory",
                      plan.spill_bytes, budget.spill, "it fits with --spill_memory");
  return Status::Ok();
}

/// "492 MiB: conv1/forward alone needs 199 MiB beside 293 MiB that always stay".
std::string DescribeFloor(const Graph& graph, const Budget& budget) {
  namespace cost = placement::cost;
  const bool leaves = budget.offload_state;
  const int64_t floor = leaves ? StateFloorBytes(graph) : FloorBytes(graph);
  const OpId op = leaves ? StateFloorOp(graph) : FloorOp(graph);
  const int64_t stays =
      leaves ? cost::ResidentBytes(graph, cost::AllAway(graph)) : StateBytes(graph);
  return FormatBytes(floor + budget.reserved) + ": " + graph.ops[op].name + " alone needs " +
         FormatBytes(floor - stays) + " beside " + FormatBytes(stays + budget.reserved) +
         " that always stay";
}

/// MakePlanOfAnySize for a graph that is known to be valid.
Result<Plan> PlanBy(const std::string& strategy, const Graph& graph, const Machine& machine,
                    const Budget& budget, int64_t padding, const SearchOptions& options = {}) {
  const auto choose = placement::strategies::FindStrategy(strategy, options);
  if (!choose.ok()) return choose.status();
  Result<Choice> choice = choose.value()(graph, machine, budget);
  if (!choice.ok()) return choice.status();
  auto& [program, packing, known] = choice.value();
  packing.padding = padding;
  Result<Plan> plan = known && padding == 0
                          ? Result<Plan>(std::move(*known))
                          : placement::schedule::Schedule(graph, program, packing);
  if (!plan.ok()) return plan;
  if (const auto faster = placement::cost::FasterAtSameSize(graph, machine, program)) {
    packing.timings = {};
    Result<Plan> other = placement::schedule::Schedule(graph, *faster, packing);
    if (other.ok() && other.value().device_bytes <= plan.value().device_bytes) plan = other;
  }
  plan.value().strategy = strategy;
  return plan;
}

Result<Plan> PlanWithin(const std::string& strategy, const Graph& graph, const Machine& machine,
                        const Budget& budget, int64_t padding) {
  Result<Plan> plan = PlanBy(strategy, graph, machine, budget, padding);
  if (!plan.ok()) return plan;
  if (Status status = CheckBudget(graph, plan.value(), budget); !status.ok()) return status;
  return plan;
}

}  // namespace

Result<Plan> MakePlanOfAnySize(const Graph& graph, const Machine& machine, const Budget& budget,
                               const std::string& strategy, int64_t padding,
                               const SearchOptions& options) {
  if (Status status = Validate(graph); !status.ok()) return status;
  return PlanBy(strategy, graph, machine, budget, padding, options);
}

Result<Plan> MakePlan(const Graph& graph, const Machine& machine, const Budget& budget,
                      const std::string& strategy, int64_t padding) {
  if (Status status = Validate(graph); !status.ok()) return status;
  Result<Plan> plan = PlanWithin(strategy, graph, machine, budget, padding);
  if (plan.ok() || plan.status().code != Code::kDoesNotFit) return plan;
  Status status = plan.status();
  const int64_t available = budget.device - budget.reserved;
  if (available < StateFloorBytes(graph) ||
      (available < FloorBytes(graph) && !budget.offload_state)) {
    status.message += ", and no plan works below " + DescribeFloor(graph, budget);
    return status;
  }
  // Strategies that search are slow, so they are tried only if no other fits.
  std::vector<std::string> fitting;
  for (const bool searches : {false, true}) {
    for (const std::string& other : StrategyNames()) {
      if (!fitting.empty() && searches) break;
      if (other == strategy || UsesCosts(other) != searches) continue;
      if (PlanWithin(other, graph, machine, budget, padding).ok())
        fitting.push_back("--placement=" + other);
    }
  }
  if (!fitting.empty())
    status.message += ", and " + Join(fitting, ", ") + (fitting.size() == 1 ? " fits" : " fit");
  return status;
}

}  // namespace layrub
