#include "layrub/training_report.hpp"

#include <glog/logging.h>

#include <utility>

#include "caffe/planned_net.hpp"
#include "layrub/base/bytes.hpp"
#include "layrub/commands.hpp"
#include "layrub/flags.hpp"
#include "layrub/placement/strategies/strategy.hpp"
#include "layrub/report/metrics.hpp"
#include "layrub/report/put_aside.hpp"
#include "layrub/training_line.hpp"

namespace layrub_tool {

namespace {

/// Most points of a curve. More cannot be told apart on a screen.
constexpr size_t kMostMetrics = 4000;

}  // namespace

std::string MetricsFile(const std::string& folder) { return folder + "/metrics.jsonl"; }

void CheckTrainingReport(const std::string& folder) {
  CheckReportFolder(folder);
  CheckMetricsFile(MetricsFile(folder));
}

void RenameOldReport(const std::string& folder) {
  std::vector<std::string> files = ReportFiles(folder);
  files.insert(files.begin(), MetricsFile(folder));
  std::string names;
  for (const std::string& name : RenameToFreeNames(files))
    names += (names.empty() ? "" : ", ") + name;
  LOG_IF(INFO, !names.empty()) << "Report: files of an earlier run in " << folder
                               << " were renamed: " << names;
}

void WriteTrainingReport(const std::string& folder, caffe::Solver<float>* solver, int solvers) {
  const caffe::PlannedNet<float>* const planned = solver->net()->planned();
  if (planned == nullptr) {
    LOG(WARNING) << "Training ended without a memory plan: " << folder << " has no report of one.";
    return;
  }
  const layrub::Graph& graph = planned->graph();
  const layrub::Plan& plan = planned->plan();
  ReportInput input;
  input.graph = &graph;
  input.plan = &plan;
  if (const auto options = solver->WantedPlacement(); options.ok())
    input.budget = options.value().budget;
  input.machine_name = solver->machine().name;
  input.net_name = solver->net()->name();
  input.with_tests = !solver->test_nets().empty();
  input.total_device_bytes = solver->planned_device_bytes();
  input.verdict = "Trained " + std::to_string(solver->iter()) + " iterations under strategy " +
                  plan.strategy + ", within " + layrub::FormatBytes(input.total_device_bytes) + ".";
  if (const auto keep = layrub::MakePlan(graph, solver->machine(), {}, "keep"); keep.ok()) {
    input.keep_bytes = keep.value().device_bytes;
    input.keep_seconds = Simulate(graph, keep.value(), solver->machine()).seconds;
  }
  input.floor_bytes = layrub::FloorBytes(graph);
  input.state_floor_bytes = layrub::StateFloorBytes(graph);
  input.predicted = Simulate(graph, plan, solver->machine());
  input.layers = LayerCosts(graph, plan, input.predicted);
  const layrub::Timeline& measured = planned->executor().timeline();
  if (!measured.spans.empty()) input.measured = measured;
  if (FLAGS_measure_memory) input.measured_device_bytes = solver->measured_device_bytes();
  input.items_name = ItemsName(*solver->net());
  if (const int64_t items = ItemsOfIteration(solver, solvers); items > 0) input.items = items;
  layrub::Result<nlohmann::json> metrics = ReadMetrics(MetricsFile(folder), kMostMetrics);
  LOG_IF(WARNING, !metrics.ok()) << "The report has no curves of the training: "
                                 << metrics.status().message;
  if (metrics.ok()) input.metrics = std::move(metrics.value());
  WriteReport(folder, input);
}

}  // namespace layrub_tool
