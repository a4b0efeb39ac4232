#include "layrub/partitioned_nets.hpp"

#include <algorithm>
#include <ctime>
#include <iomanip>
#include <optional>
#include <sstream>

#include "caffe/caffe.hpp"
#include "layrub/activity.hpp"
#include "layrub/base/bytes.hpp"
#include "layrub/commands.hpp"
#include "layrub/flags.hpp"
#include "layrub/number_text.hpp"
#include "layrub/placement/cost/timeline.hpp"

namespace layrub_tool {

using caffe::NetAxes;
using caffe::NetParameter;
using caffe::PlacementOptions;
using layrub::Machine;
using layrub::partition::Network;
using layrub::partition::Operation;
using layrub::partition::Partition;
using layrub::partition::SearchGoal;

namespace {

constexpr int kMostDevices = 64;
constexpr size_t kNameWidth = 24, kAxisWidth = 9, kRows = 30;

/// The name of an axis, or "whole".
std::string NameOf(const Operation& op, int axis) {
  return axis < 0 ? "whole" : op.axes[axis].name;
}

NetAxes AxesOfNet(const NetParameter& net, const Machine& machine) {
  NetParameter filtered;
  caffe::Net<float>::FilterNet(net, &filtered);
  return caffe::AxesOf(filtered, ShapesOf(net), machine);
}

/// The searches that the partition `name` tries. `auto` and `tofu` try several: levels are searched
/// one after the other, so a more constrained search may find a better partition of all levels.
std::vector<SearchGoal> WishesOf(const std::string& name, const Network& network,
                                 const Machine& machine) {
  SearchGoal tofu;
  tofu.cut_all = true;
  SearchGoal data = tofu;
  data.allows = [&network](int, int op, int axis) {
    return NameOf(network.operations[op], axis) == "item";
  };
  if (name == "data") return {data};
  SearchGoal chop = tofu;
  chop.same_on_all_levels = true;
  if (name == "chop") return {chop};
  SearchGoal rows = tofu;
  rows.greedy = true;
  rows.allows_home = [](int, int, layrub::Level level) { return level == layrub::Cut(0); };
  if (name == "rows") return {rows};
  if (name == "tofu") return {tofu, chop, rows};
  // Minimise time, without and with the time of moving a device's bytes to the host and back.
  SearchGoal fast;
  fast.per_byte = 1 / machine.device_link;
  fast.per_second = 1;
  SearchGoal small = fast;
  small.per_resident = 1 / machine.link_down + 1 / machine.link_up;
  return {fast, small, tofu, data};
}

WantedNets Divided(const WantedNets& nets, const NetAxes& axes, const Partition& partition,
                   const Machine& machine) {
  WantedNets local = nets;
  local.net = caffe::LocalNet(axes, partition);
  for (NetParameter& test : local.tests) {
    const NetAxes of_test = AxesOfNet(test, machine);
    test = caffe::LocalNet(of_test, caffe::PartitionLike(of_test, axes, partition));
  }
  return local;
}

/// The predicted time of an iteration of `nets`; none if they do not fit the budget.
std::optional<double> SecondsOf(const WantedNets& nets, const PlacementOptions& options) {
  const layrub::Result<caffe::SolverGraphs> graphs = BuildGraphs(nets, options);
  if (!graphs.ok()) Fail(graphs.status().message);
  const layrub::Result<caffe::SolverPlans> plans = caffe::PlanNets(graphs.value(), options);
  if (!plans.ok()) return std::nullopt;
  const caffe::SizedPlan& train = plans.value().train;
  return Simulate(graphs.value().of(train), *train.plan, options.machine).seconds;
}

int LevelsFlag() {
  int levels = 0;
  while ((1 << levels) < FLAGS_devices) ++levels;
  if (FLAGS_devices < 2 || FLAGS_devices > kMostDevices || (1 << levels) != FLAGS_devices) {
    Fail("--devices=" + std::to_string(FLAGS_devices) +
         ": a net is divided in halves, again and again: among 2, 4, 8, 16, 32 or 64 devices.");
  }
  return levels;
}

std::string PartitionFlag() {
  const std::string name = FLAGS_partition.empty() ? "auto" : FLAGS_partition;
  const std::vector<std::string> names = PartitionNames();
  if (std::find(names.begin(), names.end(), name) != names.end()) return name;
  std::string list;
  for (const std::string& each : names) list += (list.empty() ? "" : ", ") + each;
  Fail("--partition=" + name + ": there is no such partition; there are " + list + ".");
}

}  // namespace

bool PartitionFlagGiven() {
  if (FLAGS_devices == 1 && !FLAGS_partition.empty())
    Fail("--partition says how a net is divided: give --devices=N, too.");
  return FLAGS_devices != 1;
}

std::vector<std::string> PartitionNames() { return {"auto", "tofu", "data", "chop", "rows"}; }

PartitionedNets PartitionOfFlags(const WantedNets& nets, const PlacementOptions& options,
                                 const Machine& alone) {
  const int levels = LevelsFlag();
  const std::string name = PartitionFlag();
  const Activity activity("dividing the net among " + std::to_string(FLAGS_devices) + " devices");
  PartitionedNets result;
  result.name = name;
  result.devices = FLAGS_devices;
  const std::clock_t begin = std::clock();
  result.axes = AxesOfNet(nets.net, options.machine);
  std::vector<Partition> candidates;
  for (const SearchGoal& wish : WishesOf(name, result.axes.network, options.machine)) {
    Partition found = Search(result.axes.network, levels, wish);
    if (std::find(candidates.begin(), candidates.end(), found) == candidates.end())
      candidates.push_back(std::move(found));
  }
  if (name == "tofu") {
    const auto bytes = [&](const Partition& partition) {
      return layrub::partition::BytesReceived(result.axes.network, partition);
    };
    candidates = {*std::min_element(
        candidates.begin(), candidates.end(),
        [&](const Partition& a, const Partition& b) { return bytes(a) < bytes(b); })};
  }
  result.search_seconds = static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
  std::optional<double> least;
  for (Partition& candidate : candidates) {
    WantedNets local = Divided(nets, result.axes, candidate, options.machine);
    const std::optional<double> seconds =
        candidates.size() == 1 ? std::nullopt : SecondsOf(local, options);
    if (result.partition.levels() > 0 && (!seconds || (least && *least <= *seconds))) continue;
    least = seconds;
    result.local = std::move(local);
    result.partition = std::move(candidate);
  }
  PlacementOptions keep = options;
  keep.strategy = "keep";
  keep.budget = {};
  keep.machine = alone;
  result.whole_seconds = SecondsOf(nets, keep).value_or(0);
  return result;
}

int64_t BytesReceived(const layrub::Graph& graph, const layrub::Plan& plan) {
  double bytes = 0;
  for (const layrub::Step& step : plan.steps) {
    if (step.kind == layrub::StepKind::kRun)
      bytes += graph.ops[step.op].variants[step.variant].exchanged;
  }
  return static_cast<int64_t>(bytes);
}

std::string Heading(const PartitionedNets& nets) {
  std::ostringstream out;
  out << "Divided among " << nets.devices << " devices (partition " << nets.name << ", found in "
      << FormatSeconds(nets.search_seconds) << " of processor time). Each of them:\n";
  return out.str();
}

std::string ToText(const PartitionedNets& nets, double seconds, bool all_layers) {
  std::ostringstream out;
  const auto row = [&](const std::string& name, const std::string& value, const std::string& note) {
    out << "  " << std::left << std::setw(20) << name << std::right << std::setw(12) << value
        << "   " << note << "\n";
  };
  out << "\nBetween devices:\n";
  row("received", layrub::FormatBytes(nets.received), "by each device in an iteration");
  row("one device alone", FormatSeconds(nets.whole_seconds),
      "an iteration, if its memory held all");
  row("speed", Percent(nets.whole_seconds / nets.devices, seconds),
      "of " + std::to_string(nets.devices) + " times that device's");
  out << "\nHow layers are divided, level by level ("
      << (nets.devices == 2 ? "one level" : "halves, then halves of these") << "):\n";
  const auto& ops = nets.axes.network.operations;
  size_t shown = 0;
  for (size_t o = 0; o < ops.size(); ++o) {
    std::string line = "  " + Shortened(ops[o].name, kNameWidth);
    line.resize(kNameWidth + 3, ' ');
    for (const std::vector<int>& level : nets.partition.axes) {
      std::string cell = NameOf(ops[o], level[o]);
      cell.resize(std::max(kAxisWidth, cell.size() + 1), ' ');
      line += cell;
    }
    line += nets.axes.rules[o].reason;
    if (!all_layers && ++shown > kRows) continue;
    out << line.substr(0, line.find_last_not_of(' ') + 1) << "\n";
  }
  if (shown > kRows)
    out << "  ... and " << shown - kRows << " more; --all_layers shows them all.\n";
  return out.str();
}

}  // namespace layrub_tool
