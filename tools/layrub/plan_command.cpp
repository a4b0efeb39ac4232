#include <glog/logging.h>

#include <iostream>
#include <optional>

#include "layrub/activity.hpp"
#include "layrub/commands.hpp"
#include "layrub/flags.hpp"
#include "layrub/largest_batch.hpp"
#include "layrub/machine_file.hpp"
#include "layrub/partitioned_nets.hpp"
#include "layrub/placement/cost/shared_link.hpp"
#include "layrub/plan_report.hpp"
#include "layrub/planned_nets.hpp"
#include "layrub/report/report.hpp"

namespace layrub_tool {

namespace {

void Dump(const layrub::Graph& graph, const layrub::Plan& plan) {
  MakeFolder("dump", FLAGS_dump);
  WriteFile(FLAGS_dump + "/graph.txt", layrub::ToText(graph));
  WriteFile(FLAGS_dump + "/plan.txt", layrub::ToText(plan, graph));
}

std::string TextOf(caffe::NetParameter net) {
  for (caffe::LayerParameter& layer : *net.mutable_layer()) layer.clear_origin();
  return net.DebugString();
}

void Report(const std::string& net_name, bool with_tests, const layrub::Graph& graph,
            const PlanReport& report, const std::optional<PartitionedNets>& divided) {
  ReportInput input;
  input.graph = &graph;
  input.plan = &report.plan();
  input.budget = report.options.budget;
  input.machine_name = report.options.machine.name;
  input.net_name = net_name;
  input.with_tests = with_tests;
  input.total_device_bytes = report.nets.device_bytes;
  input.verdict = VerdictText(report);
  input.fits = report.fits.ok();
  input.keep_bytes = report.keep_peak_bytes;
  input.floor_bytes = report.floor_bytes;
  input.state_floor_bytes = report.state_floor_bytes;
  input.keep_seconds = report.keep_seconds;
  input.predicted = Simulate(graph, report.plan(), report.options.machine);
  input.layers = report.layers;
  if (divided) {
    input.division = {divided->devices, divided->name, divided->received, divided->whole_seconds,
                      LayerAxes(*divided)};
  }
  WriteReport(FLAGS_report, input);
}

}  // namespace

int RunPlan(const std::vector<std::string>&) {
  FLAGS_minloglevel = std::max(FLAGS_minloglevel, int{google::GLOG_WARNING});
  KeepFreedMemory();
  RefuseUnknownFormat();
  WantedNets nets = NetsOfFlags("plan");
  layrub::Result<caffe::PlacementOptions> options = caffe::ToOptions(nets.placement);
  if (!options.ok()) return ExitCode(options.status());
  ApplyMachineFlags(&options.value());
  caffe::Caffe::set_solver_count(SolversFlag());
  std::optional<PartitionedNets> divided;
  if (PartitionFlagGiven()) {
    if (FLAGS_largest_batch) Fail("--largest_batch is for one device: leave out --devices.");
    const layrub::Machine alone = options.value().machine;
    options.value().machine = layrub::ShareLink(alone, FLAGS_devices);
    divided = PartitionOfFlags(nets, options.value(), alone);
    nets = divided->local;
  }
  if (!FLAGS_report.empty()) CheckReportFolder(FLAGS_report);
  const layrub::Result<caffe::SolverGraphs> built = BuildGraphs(nets, options.value());
  if (!built.ok()) return ExitCode(built.status());
  const caffe::SolverGraphs& graphs = built.value();
  WarnIfProfileLacksOperations(graphs.train, options.value().machine);
  layrub::Result<PlanReport> made = [&] {
    const Activity activity("looking for plans of " + std::to_string(graphs.train.ops.size()) +
                            " operations");
    return MakeReport(graphs, options.value(), FLAGS_smallest_budget);
  }();
  if (!made.ok()) return ExitCode(made.status());
  PlanReport& report = made.value();
  report.divided = divided.has_value();
  const bool affords_batches = AffordsBatches(graphs.train, options.value());
  report.batch_not_searched = report.limited() && !FLAGS_largest_batch && !affords_batches;
  if (report.limited() && !report.batch_not_searched && !report.divided) {
    const LargestBatch found = FindLargestBatch(options.value(), graphs, report.smallest_bytes,
                                                FLAGS_largest_batch || report.below_smallest);
    report.largest_batch = found.batch;
    report.batch_not_searched = found.given_up;
  }
  const layrub::Graph& graph = graphs.of(report.nets.train);
  if (!FLAGS_dump.empty()) Dump(graph, report.plan());
  if (!FLAGS_dump.empty() && divided) WriteFile(FLAGS_dump + "/net.prototxt", TextOf(nets.net));
  if (divided) divided->received = BytesReceived(graph, report.plan());
  if (!FLAGS_report.empty()) Report(NetName(nets.net), !nets.tests.empty(), graph, report, divided);
  if (FLAGS_format == "json") {
    std::cout << ToJson(graph, report, divided ? &*divided : nullptr);
  } else {
    if (divided) std::cout << Heading(*divided);
    std::cout << ToText(graph, report, FLAGS_all_layers);
    if (divided) std::cout << ToText(*divided, report.seconds, FLAGS_all_layers);
  }
  return report.fits.ok() ? kSuccess : kDoesNotFit;
}

}  // namespace layrub_tool
