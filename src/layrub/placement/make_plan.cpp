#include <string>

#include "layrub/bytes.hpp"
#include "layrub/strategy.hpp"

namespace layrub {
namespace {

std::string Needs(const std::string& what, int64_t needed, int64_t budget) {
  return "needs " + FormatBytes(needed) + " (" + std::to_string(needed) + " bytes) of " + what +
         ", the budget is " + FormatBytes(budget);
}

Status CheckBudget(const Graph& graph, const Plan& plan, const Budget& budget) {
  if (plan.device_bytes > budget.device) {
    const Peak peak = FindPeak(graph, plan);
    const std::string where = peak.op == kNone ? "" : " at " + graph.ops[peak.op].name;
    return Status::DoesNotFit(Needs("device memory" + where, plan.device_bytes, budget.device) +
                              "; the smallest budget of strategy " + plan.strategy +
                              " is --device_memory=" + std::to_string(plan.device_bytes));
  }
  if (plan.host_bytes > budget.host) {
    return Status::DoesNotFit(Needs("host memory", plan.host_bytes, budget.host) +
                              "; the smallest budget of strategy " + plan.strategy +
                              " is --host_memory=" + std::to_string(plan.host_bytes));
  }
  return Status::Ok();
}

}  // namespace

Result<Plan> MakePlan(const Graph& graph, const Machine& machine, const Budget& budget,
                      const std::string& strategy, int64_t padding) {
  if (Status status = Validate(graph); !status.ok()) return status;
  const Result<Strategy> decide = FindStrategy(strategy);
  if (!decide.ok()) return decide.status();
  const Result<Decision> decision = decide.value()(graph, machine, budget);
  if (!decision.ok()) return decision.status();
  Result<Plan> plan = Schedule(graph, decision.value(), padding);
  if (!plan.ok()) return plan;
  plan.value().strategy = strategy;
  if (Status status = CheckBudget(graph, plan.value(), budget); !status.ok()) return status;
  return plan;
}

}  // namespace layrub
