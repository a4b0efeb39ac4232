#include "layrub/plan_report.hpp"

#include <algorithm>
#include <future>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>

#include "layrub/json_text.hpp"
#include "layrub/partitioned_nets.hpp"
#include "layrub/placement/cost/shared_link.hpp"
#include "layrub/strategy_plans.hpp"

namespace layrub_tool {

using caffe::PlacementOptions;
using caffe::SolverGraphs;
using caffe::SolverPlans;
using layrub::Graph;
using layrub::Plan;
using layrub::Result;

namespace {

/// Limits on the size of a graph, in operations, for answers that take many plans: what each other
/// strategy would do; the smallest budget of a strategy that searches; the largest batch of one
/// that searches, without and with a limit of host memory (which takes a search for each batch);
/// and the largest batch of one that does not search. Within the limit, each answer takes a few
/// seconds at most.
constexpr size_t kAlternativeOps = 3000;
constexpr size_t kSearchedBudgetOps = 50'000;
constexpr size_t kSearchedBatchOps = 1000;
constexpr size_t kLimitedBatchOps = 200;
constexpr size_t kBatchOps = 3000;

void AddRecomputationsAndMoves(const Graph& graph, PlanReport* report) {
  for (const layrub::Step& step : report->plan().steps) {
    if (layrub::IsMove(step)) report->moved_bytes += step.end - step.begin;
    if (!step.recompute) continue;
    ++report->recomputed_ops;
    report->recomputed_flops += graph.ops[step.op].variants[step.variant].flops;
  }
  for (const layrub::LayerCost& cost : report->layers) report->recomputed_seconds += cost.again;
}

/// A blob can be read after a pass if its newest version is still resident: the plan lists it as
/// readable, or it is state.
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
    if (!tensor.is_state() && !std::binary_search(left.begin(), left.end(), t)) continue;
    report->readable.push_back(tensor.name.substr(0, tensor.name.rfind('@')));
  }
}

/// What strategies other than that of `options` do. `fits`: the strategy of `options` has a plan.
std::vector<Alternative> FindAlternatives(const SolverGraphs& graphs,
                                          const PlacementOptions& options, bool fits,
                                          StrategyPlans* strategies) {
  std::vector<Alternative> found;
  for (const std::string& strategy : layrub::StrategyNames()) {
    if (strategy == options.strategy) continue;
    Alternative other{strategy, {}, {}};
    // A strategy that searches also tries the others, so it fits if one of them does.
    const bool searches = layrub::UsesCosts(strategy);
    if ((searches && fits) || strategies->CanFit(strategy, options.budget)) {
      const Result<SolverPlans> plans = strategies->WithinBudget(strategy, options.budget);
      if (!plans.ok()) continue;
      const caffe::SizedPlan& train = plans.value().train;
      other.seconds = Simulate(graphs.of(train), *train.plan, options.machine).seconds;
      fits = true;
    } else {
      other.smallest_bytes = strategies->SmallestBytes(strategy);
    }
    found.push_back(other);
  }
  return found;
}

}  // namespace

bool PlanReport::limited() const {
  return options.budget.device != std::numeric_limits<int64_t>::max();
}

bool AffordsBatches(const Graph& graph, const PlacementOptions& options) {
  if (!layrub::UsesCosts(options.strategy)) return graph.ops.size() <= kBatchOps;
  const bool host_limited = options.budget.host != layrub::Budget().host;
  return graph.ops.size() <= (host_limited ? kLimitedBatchOps : kSearchedBatchOps);
}

double TimeFloorOf(const SolverGraphs& graphs, const PlacementOptions& options, int64_t budget) {
  const layrub::Machine machine = OffloadRates(options.machine, options.budget);
  const bool leaves = options.budget.offload_state;
  double least = TimeFloor(SmallestGraph(graphs, options), machine, budget, leaves);
  for (const caffe::SlicedGraph& sliced : graphs.sliced)
    least = std::min(least, TimeFloor(sliced.train, machine, budget, leaves));
  return least;
}

Result<PlanReport> MakeReport(const SolverGraphs& graphs, const PlacementOptions& options,
                              bool ask_smallest) {
  PlanReport report;
  report.options = options;
  report.why_gradients_stay = graphs.why_gradients_stay;
  const PlacementOptions best = WithAnyStrategy(options);
  const Graph& smallest_graph = SmallestGraph(graphs, best);
  report.floor_bytes = layrub::FloorBytes(smallest_graph);
  report.state_floor_bytes = LeastBytes(graphs, best);
  std::future<double> floor_seconds = std::async(
      kAsyncIfPossible, [&] { return TimeFloorOf(graphs, best, options.budget.device); });
  StrategyPlans strategies(graphs, options);
  const bool searches = layrub::UsesCosts(options.strategy);
  ask_smallest = ask_smallest || !searches || graphs.train.ops.size() <= kSearchedBudgetOps;
  if (searches && ask_smallest) strategies.BeginSmallest(options.strategy);
  const Result<SolverPlans> plans = strategies.WithinBudget(options.strategy, options.budget);
  report.fits = plans.status();
  if (!plans.ok() && report.fits.code != layrub::Code::kDoesNotFit) return report.fits;
  report.nets = plans.ok() ? plans.value() : SolverPlans();
  if (!plans.ok() || ask_smallest) {
    const Result<SolverPlans>& smallest = strategies.Smallest(options.strategy);
    if (!smallest.ok()) return smallest.status();
    report.smallest_bytes = strategies.SmallestBytes(options.strategy);
    if (!plans.ok()) report.nets = smallest.value();
  } else {
    report.smallest_not_searched = true;
  }
  // A strategy that searches may find a smaller plan when it knows its budget.
  if (plans.ok() && !report.smallest_not_searched) {
    const int64_t found = plans.value().device_bytes;
    report.below_smallest = !report.smallest_bytes || found < *report.smallest_bytes;
    if (report.below_smallest) report.smallest_bytes = found;
  }
  const Result<SolverPlans>& keep = strategies.Smallest("keep");
  if (!keep.ok()) return keep.status();

  const Graph& graph = graphs.of(report.nets.train);
  const layrub::Timeline timeline = Simulate(graph, report.plan(), options.machine);
  report.seconds = timeline.seconds;
  report.stalled = timeline.stalled;
  report.peak = layrub::FindPeak(graph, report.plan());
  report.layers = LayerCosts(graph, report.plan(), timeline);
  AddRecomputationsAndMoves(graph, &report);
  AddReadable(graph, &report);
  report.persistent_bytes = layrub::StateBytes(graph);
  const Plan& keep_plan = *keep.value().train.plan;
  report.keep_peak_bytes = keep_plan.device_bytes;
  report.keep_budget_bytes = keep.value().device_bytes;
  report.keep_seconds = Simulate(graphs.train, keep_plan, options.machine).seconds;
  report.floor_seconds = floor_seconds.get();
  if (graph.ops.size() <= kAlternativeOps)
    report.alternatives = FindAlternatives(graphs, options, plans.ok(), &strategies);
  return report;
}

std::string ToJson(const Graph& graph, const PlanReport& report, const PartitionedNets* divided) {
  nlohmann::ordered_json breakdown;
  for (size_t role = 0; role < report.peak.by_role.size(); ++role) {
    breakdown[layrub::Name(static_cast<layrub::Role>(role))] = report.peak.by_role[role];
  }
  breakdown["unused"] = report.peak.unused;
  const auto or_null = [](const auto& known) {
    return known ? nlohmann::ordered_json(*known) : nlohmann::ordered_json();
  };
  nlohmann::ordered_json json = {
      {"verdict", report.fits.ok() ? "fits" : "does_not_fit"},
      {"strategy", report.plan().strategy},
      {"device_peak_bytes", report.plan().device_bytes},
      {"total_device_bytes", report.nets.device_bytes},
      {"persistent_bytes", report.persistent_bytes},
      {"keep_peak_bytes", report.keep_peak_bytes},
      {"floor_bytes", report.floor_bytes},
      {"state_floor_bytes", report.state_floor_bytes},
      {"smallest_budget_bytes", or_null(report.smallest_bytes)},
      {"largest_batch", or_null(report.largest_batch)},
      {"moved_bytes", report.moved_bytes},
      {"recomputed_ops", report.recomputed_ops},
      {"recomputed_flops", report.recomputed_flops},
      {"host_peak_bytes", report.plan().host_bytes},
      {"spill_bytes", report.plan().spill_bytes},
      {"transient_gradients", report.nets.train.transient_gradients},
      {"slices", report.nets.train.slicing.parts},
      {"predicted_seconds", report.seconds},
      {"keep_seconds", report.keep_seconds},
      {"time_floor_seconds", report.floor_seconds},
      {"peak_op", report.peak.op == layrub::kNone ? "" : graph.ops[report.peak.op].name},
      {"breakdown", breakdown},
  };
  if (divided) {
    json["devices"] = divided->devices;
    json["partition"] = divided->name;
    json["search_seconds"] = divided->search_seconds;
    json["received_bytes"] = divided->received;
    json["whole_seconds"] = divided->whole_seconds;
  }
  return JsonText(json);
}

}  // namespace layrub_tool
