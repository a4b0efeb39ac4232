#include <glog/logging.h>

#include <algorithm>
#include <iostream>

#include "layrub/base/bytes.hpp"
#include "layrub/commands.hpp"
#include "layrub/comparison.hpp"
#include "layrub/flags.hpp"
#include "layrub/machine_file.hpp"
#include "layrub/partition_comparison.hpp"
#include "layrub/partitioned_nets.hpp"
#include "layrub/placement/cost/shared_link.hpp"
#include "layrub/planned_nets.hpp"

namespace layrub_tool {

namespace {

/// The budgets of --device_memory in rising order, each once. Sets the flag to the largest one, if
/// there are any.
std::vector<int64_t> BudgetsFlag() {
  std::vector<int64_t> budgets;
  for (const std::string& text : SplitList(FLAGS_device_memory)) {
    const layrub::Result<int64_t> bytes = layrub::ParseBytes(text);
    if (!bytes.ok()) Fail("--device_memory: " + bytes.status().message);
    budgets.push_back(bytes.value());
  }
  std::sort(budgets.begin(), budgets.end());
  budgets.erase(std::unique(budgets.begin(), budgets.end()), budgets.end());
  if (!budgets.empty()) FLAGS_device_memory = std::to_string(budgets.back());
  return budgets;
}

/// The path of the picture, which can be written; "" without --report.
std::string PictureOfFlag() {
  if (FLAGS_report.empty()) return "";
  MakeFolder("report", FLAGS_report);
  const std::string path = FLAGS_report + "/compare.svg";
  CheckWritable(path);
  return path;
}

/// Prints the comparison, and draws it if `picture` is a path. Returns the exit code.
template <typename Comparison>
int Show(const layrub::Result<Comparison>& made, const std::string& picture) {
  if (!made.ok()) return ExitCode(made.status());
  const Comparison& comparison = made.value();
  std::cout << (FLAGS_format == "json" ? ToJson(comparison) : ToText(comparison));
  if (!picture.empty()) WriteFile(picture, ToSvg(comparison));
  return comparison.anything_fits() ? kSuccess : kDoesNotFit;
}

}  // namespace

int RunCompare(const std::vector<std::string>&) {
  FLAGS_minloglevel = std::max(FLAGS_minloglevel, int{google::GLOG_WARNING});
  KeepFreedMemory();
  RefuseUnknownFormat();
  const std::vector<int64_t> budgets = BudgetsFlag();
  const WantedNets nets = NetsOfFlags("compare");
  layrub::Result<caffe::PlacementOptions> options = caffe::ToOptions(nets.placement);
  if (!options.ok()) return ExitCode(options.status());
  ApplyMachineFlags(&options.value());
  caffe::Caffe::set_solver_count(SolversFlag());
  const std::string picture = PictureOfFlag();
  if (PartitionFlagGiven()) {
    const layrub::Machine alone = options.value().machine;
    options.value().machine = layrub::ShareLink(alone, FLAGS_devices);
    return Show(ComparePartitions(nets, options.value(), alone, budgets), picture);
  }
  LOG_IF(WARNING, !FLAGS_placement.empty())
      << "--placement has no effect on 'layrub compare' without --devices: it compares all.";
  const layrub::Result<caffe::SolverGraphs> graphs = BuildGraphs(nets, options.value());
  if (!graphs.ok()) return ExitCode(graphs.status());
  WarnIfProfileLacksOperations(graphs.value().train, options.value().machine);
  return Show(CompareStrategies(NetName(nets.net), graphs.value(), options.value(), budgets),
              picture);
}

}  // namespace layrub_tool
