#include "layrub/plan_report.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>

namespace layrub_tool {

using caffe::PlacementOptions;
using caffe::SolverGraphs;
using caffe::SolverPlans;
using layrub::Graph;
using layrub::Plan;
using layrub::Result;

namespace {

/// Operations of a graph whose plan takes well below a tenth of a second.
constexpr size_t kQuickOps = 3000;

void AddRecomputations(const Graph& graph, PlanReport* report) {
  for (const layrub::Step& step : report->plan().steps) {
    if (step.kind != layrub::StepKind::kRecompute) continue;
    ++report->recomputed_ops;
    report->recomputed_flops += graph.ops[step.op].forms[step.form].flops;
  }
  for (const layrub::LayerCost& cost : report->layers) report->recomputed_seconds += cost.again;
}

/// A blob can be read when its newest version is still there: one that is left over on purpose, or
/// never goes away.
void AddReadable(const Graph& graph, PlanReport* report) {
  std::map<int32_t, layrub::TensorId> newest;
  for (size_t t = 0; t < graph.tensors.size(); ++t) {
    const layrub::Tensor& tensor = graph.tensors[t];
    if (tensor.blob < 0 || tensor.role == layrub::Role::kActivationGradient) continue;
    newest[tensor.blob] = static_cast<layrub::TensorId>(t);
  }
  const auto& left = report->plan().readable;
  for (const auto& [blob, t] : newest) {
    const layrub::Tensor& tensor = graph.tensors[t];
    ++report->blobs;
    if (!tensor.persistent && !std::binary_search(left.begin(), left.end(), t)) continue;
    report->readable.push_back(tensor.name.substr(0, tensor.name.rfind('@')));
  }
}

std::vector<Alternative> FindAlternatives(const SolverGraphs& graphs, PlacementOptions options) {
  std::vector<Alternative> found;
  const std::string own = options.strategy;
  for (const std::string& strategy : layrub::StrategyNames()) {
    if (strategy == own || !QuickToPlan(graphs.train, strategy)) continue;
    options.strategy = strategy;
    const Result<SolverPlans> smallest = SmallestPlans(graphs, options);
    if (!smallest.ok()) continue;
    Alternative other{strategy, smallest.value().device_bytes, {}};
    if (other.smallest_bytes <= options.budget.device) {
      const Result<SolverPlans> plans = PlanNets(graphs, options);
      if (plans.ok()) {
        other.seconds = Simulate(graphs.train, *plans.value().train.plan, options.machine).seconds;
      }
    }
    found.push_back(other);
  }
  return found;
}

}  // namespace

bool PlanReport::limited() const {
  return options.budget.device != std::numeric_limits<int64_t>::max();
}

bool QuickToPlan(const Graph& graph, const std::string& strategy) {
  return graph.ops.size() <= kQuickOps && !layrub::UsesCosts(strategy);
}

Result<PlanReport> MakeReport(const SolverGraphs& graphs, const PlacementOptions& options) {
  const Graph& graph = graphs.train;
  PlanReport report;
  report.options = options;
  Result<SolverPlans> plans = PlanNets(graphs, options);
  report.fits = plans.status();
  if (!plans.ok() && report.fits.code != layrub::Code::kDoesNotFit) return report.fits;
  const Result<SolverPlans> smallest = SmallestPlans(graphs, options);
  if (!smallest.ok()) return smallest.status();
  PlacementOptions keep_options = options;
  keep_options.strategy = "keep";
  const Result<SolverPlans> keep = SmallestPlans(graphs, keep_options);
  if (!keep.ok()) return keep.status();

  report.smallest_bytes = smallest.value().device_bytes;
  report.nets = plans.ok() ? plans.value() : smallest.value();
  const layrub::Timeline timeline = Simulate(graph, report.plan(), options.machine);
  report.seconds = timeline.seconds;
  report.stalled = timeline.stalled;
  report.peak = layrub::FindPeak(graph, report.plan());
  report.layers = LayerCosts(graph, report.plan(), timeline);
  AddRecomputations(graph, &report);
  AddReadable(graph, &report);
  report.persistent_bytes = layrub::PersistentBytes(graph);
  const Plan& keep_plan = *keep.value().train.plan;
  report.keep_peak_bytes = keep_plan.device_bytes;
  report.keep_budget_bytes = keep.value().device_bytes;
  report.keep_seconds = Simulate(graph, keep_plan, options.machine).seconds;
  report.floor_seconds = TimeFloor(graph, options.machine, options.budget.device);
  report.floor_bytes = layrub::FloorBytes(graph);
  report.alternatives = FindAlternatives(graphs, options);
  return report;
}

std::string ToJson(const Graph& graph, const PlanReport& report) {
  nlohmann::ordered_json breakdown;
  for (size_t role = 0; role < report.peak.by_role.size(); ++role) {
    breakdown[layrub::Name(static_cast<layrub::Role>(role))] = report.peak.by_role[role];
  }
  breakdown["gaps"] = report.peak.gaps;
  const nlohmann::ordered_json largest_batch = report.largest_batch
                                                   ? nlohmann::ordered_json(*report.largest_batch)
                                                   : nlohmann::ordered_json();
  const nlohmann::ordered_json json = {
      {"verdict", report.fits.ok() ? "fits" : "does_not_fit"},
      {"strategy", report.plan().strategy},
      {"device_peak_bytes", report.plan().device_bytes},
      {"total_device_bytes", report.nets.device_bytes},
      {"persistent_bytes", report.persistent_bytes},
      {"keep_peak_bytes", report.keep_peak_bytes},
      {"floor_bytes", report.floor_bytes},
      {"smallest_budget_bytes", report.smallest_bytes},
      {"largest_batch", largest_batch},
      {"recomputed_ops", report.recomputed_ops},
      {"recomputed_flops", report.recomputed_flops},
      {"host_peak_bytes", report.plan().host_bytes},
      {"predicted_seconds", report.seconds},
      {"keep_seconds", report.keep_seconds},
      {"time_floor_seconds", report.floor_seconds},
      {"peak_op", report.peak.op == layrub::kNone ? "" : graph.ops[report.peak.op].name},
      {"breakdown", breakdown},
  };
  return json.dump(2) + "\n";
}

}  // namespace layrub_tool
