#include "layrub/compared_plan.hpp"

#include <iomanip>
#include <limits>
#include <sstream>

#include "layrub/base/bytes.hpp"
#include "layrub/partitioned_nets.hpp"
#include "layrub/placement/cost/timeline.hpp"

namespace layrub_tool {

using caffe::PlacementOptions;
using caffe::SolverGraphs;
using caffe::SolverPlans;
using layrub::FormatBytes;
using layrub::Result;

namespace {

/// Whether PlanNets may find a plan. If not, the caller skips it, as its error message takes long.
bool MayFit(const SolverGraphs& graphs, PlacementOptions options, const std::string& strategy,
            const layrub::Budget& budget, StrategyPlans* strategies) {
  if (strategies->CanFit(strategy, budget)) return true;
  // A strategy that searches may find a smaller plan when it knows the budget. Others may take less
  // of the host if they get more of the device.
  options.strategy = strategy;
  if (layrub::UsesCosts(strategy)) return budget.device >= LeastBytes(graphs, options);
  const Result<SolverPlans>& smallest = strategies->Smallest(strategy);
  return layrub::UsesBudget(strategy) && smallest.ok() &&
         smallest.value().device_bytes <= budget.device;
}

}  // namespace

std::optional<int64_t> LimitOf(int64_t bytes) {
  if (bytes == std::numeric_limits<int64_t>::max()) return {};
  return bytes;
}

void MakeComparedPlan(const SolverGraphs& graphs, const PlacementOptions& options,
                      StrategyPlans* strategies, ComparedPlan* made) {
  layrub::Budget budget = options.budget;
  if (made->budget_bytes) budget.device = *made->budget_bytes;
  Result<SolverPlans> plans = layrub::Status::DoesNotFit("");
  if (MayFit(graphs, options, made->strategy, budget, strategies))
    plans = strategies->WithinBudget(made->strategy, budget);
  made->fits = plans.ok();
  if (!made->fits) {
    made->smallest_bytes = strategies->SmallestBytes(made->strategy);
    return;
  }
  const layrub::Plan& plan = *plans.value().train.plan;
  const layrub::Graph& graph = graphs.of(plans.value().train);
  made->device_bytes = plans.value().device_bytes;
  made->host_bytes = plan.host_bytes;
  made->spill_bytes = plan.spill_bytes;
  made->seconds = Simulate(graph, plan, options.machine).seconds;
  made->received_bytes = BytesReceived(graph, plan);
  for (const layrub::Step& step : plan.steps) {
    if (layrub::IsOffload(step) || layrub::IsPrefetch(step))
      made->traffic_bytes += layrub::CopiedBytes(graph, step);
    if (step.recompute) ++made->recomputed_ops;
  }
}

void WriteRow(std::ostream& out, const std::vector<int>& widths,
              const std::vector<std::string>& cells) {
  std::ostringstream line;
  line << "  " << std::left << std::setw(widths[0]) << cells[0] << std::right;
  for (size_t i = 1; i + 1 < cells.size(); ++i) line << std::setw(widths[i]) << cells[i];
  out << line.str() << "  " << cells.back() << "\n";
}

std::string BytesOrDash(int64_t bytes) { return bytes == 0 ? "-" : FormatBytes(bytes); }

std::string OffDevice(const ComparedPlan& plan) {
  if (plan.spill_bytes == 0) return BytesOrDash(plan.host_bytes);
  return (plan.host_bytes > 0 ? FormatBytes(plan.host_bytes) + " + " : "file ") +
         FormatBytes(plan.spill_bytes);
}

std::string Verdict(const ComparedPlan& plan) {
  if (plan.fits) return "fits";
  return plan.smallest_bytes ? "needs " + FormatBytes(*plan.smallest_bytes)
                             : "needs more of the host";
}

}  // namespace layrub_tool
