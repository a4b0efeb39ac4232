#include "layrub/planned_time.hpp"

#include <glog/logging.h>

#include <algorithm>
#include <map>

#include "caffe/planned_net.hpp"
#include "layrub/activity.hpp"
#include "layrub/commands.hpp"
#include "layrub/flags.hpp"
#include "layrub/machine_file.hpp"
#include "layrub/placement/cost/layer_costs.hpp"
#include "layrub/recorded_solver.hpp"

namespace layrub_tool {

using layrub::Graph;
using layrub::OpKind;
using layrub::Timeline;

namespace {

/// The iterations after which a solver that measures has planned again, and those that then touch
/// their memory for the first time.
constexpr int kWarmUp = 5 + 2;

const Timeline& MedianIteration(std::vector<Timeline>* timelines) {
  const auto middle = timelines->begin() + static_cast<std::ptrdiff_t>(timelines->size() / 2);
  std::nth_element(timelines->begin(), middle, timelines->end(),
                   [](const Timeline& a, const Timeline& b) { return a.seconds < b.seconds; });
  return *middle;
}

/// Adds the times of the compute lane, and the variants that ran.
void AddCompute(const Graph& graph, const layrub::Plan& plan, const Timeline& timeline,
                TimeReport* report) {
  const std::vector<int> owners = LayersOfOperations(graph, report->layers);
  for (const layrub::Span& span : timeline.spans) {
    const layrub::Step& step = plan.steps[span.step];
    const double seconds = span.end - span.begin;
    if (IsMove(step)) report->planned->moves += seconds;
    if (IsRun(graph, step, OpKind::kUpdate)) report->planned->updates += seconds;
    const bool once = IsRun(graph, step, OpKind::kCompute) || IsRun(graph, step, OpKind::kFill);
    if (!once || owners[step.op] == layrub::kNone) continue;
    LayerTime& layer = report->layers[owners[step.op]];
    const bool forward = graph.ops[step.op].pass == layrub::Pass::kForward;
    (forward ? layer.forward : layer.backward) += seconds;
  }
  std::vector<OperandChoice> choices(graph.ops.size());
  for (const layrub::Step& step : plan.steps) {
    if (step.op != layrub::kNone) choices[step.op] = {step.variant, step.algorithm};
  }
  AddOperations(graph, choices, &report->layers);
}

/// Adds what the plan costs: copies and recomputation.
void AddCosts(const Graph& graph, const layrub::Plan& plan, const Timeline& timeline,
              TimeReport* report) {
  std::map<std::string, layrub::LayerCost> costs;
  for (const layrub::LayerCost& cost : LayerCosts(graph, plan, timeline)) costs[cost.layer] = cost;
  const std::vector<int> owners = LayersOfOperations(graph, report->layers);
  for (size_t o = 0; o < graph.ops.size(); ++o) {
    if (owners[o] == layrub::kNone) continue;
    const auto found = costs.find(LayerOf(graph.ops[o]));
    if (found == costs.end()) continue;
    LayerTime& layer = report->layers[owners[o]];
    layer.again += found->second.again;
    layer.hidden += found->second.hidden();
    layer.exposed += found->second.exposed;
    costs.erase(found);
  }
}

}  // namespace

layrub::Result<TimeReport> TimePlanned(const caffe::NetParameter& net, int iterations) {
  caffe::PlacementParameter placement;
  ApplyPlacementFlags(&placement);
  if (const auto options = caffe::ToOptions(placement); !options.ok()) return options.status();
  const auto solver = MakeRecordedSolver(net, placement);
  for (const std::string& weights : SplitList(FLAGS_weights))
    solver->net()->CopyTrainedLayersFrom(weights);
  ApplyMachineFlags(solver->mutable_placement_extra());
  solver->mutable_placement_extra()->measure = !Given("machine");
  const layrub::Status placed = [&] {
    const Activity activity("looking for a plan");
    return solver->Place();
  }();
  if (!placed.ok()) return placed;
  layrub::ProgressLine line;
  std::vector<Timeline> timelines =
      Record(solver.get(), kWarmUp, iterations, "timing " + net.name(), &line);

  const caffe::PlannedNet<float>& planned = *solver->net()->planned();
  const Graph& graph = planned.graph();
  const layrub::Plan& plan = planned.plan();
  const Timeline& timeline = MedianIteration(&timelines);
  const auto keep = layrub::MakePlan(graph, solver->machine(), {}, "keep");
  if (!keep.ok()) return keep.status();
  TimeReport report;
  report.net = solver->net()->name();
  report.iterations = iterations;
  report.seconds = timeline.seconds;
  report.layers = LayersOf(*solver->net());
  JoinFused(graph, &report.layers);
  report.planned = PlannedTime();
  report.planned->strategy = plan.strategy;
  report.planned->machine = solver->machine().name;
  report.planned->device_bytes = plan.device_bytes;
  report.planned->host_bytes = plan.host_bytes;
  report.planned->spill_bytes = plan.spill_bytes;
  report.planned->keep_bytes = keep.value().device_bytes;
  report.planned->predicted = Simulate(graph, plan, solver->machine()).seconds;
  report.planned->stalled = timeline.stalled;
  AddCompute(graph, plan, timeline, &report);
  AddCosts(graph, plan, timeline, &report);
  return report;
}

}  // namespace layrub_tool
