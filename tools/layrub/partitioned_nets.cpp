#include "layrub/partitioned_nets.hpp"

#include <algorithm>
#include <compare>
#include <ctime>
#include <iomanip>
#include <limits>
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

/// For each value, its dimension along which its layer computes the items of the batch; 0 if the
/// layer does not tell.
std::vector<int> ItemDims(const Network& network) {
  std::vector<int> dims(network.values.size(), 0);
  for (const Operation& op : network.operations) {
    for (const layrub::partition::Axis& axis : op.axes) {
      if (axis.name != "item") continue;
      for (size_t i = 0; i < op.outputs.size(); ++i)
        dims[op.outputs[i]] = std::max(0, axis.outputs[i]);
    }
  }
  return dims;
}

/// The searches that are tried. Levels are searched one after the other, so a more constrained
/// search may find a better partition of all levels.
struct Goals {
  Goals(const Network& network, const Machine& machine) {
    tofu.cut_all = true;
    data = chop = rows = tofu;
    data.allows = [&network](int, int op, int axis) {
      return NameOf(network.operations[op], axis) == "item";
    };
    chop.same_on_all_levels = true;
    rows.greedy = true;
    rows.allows_home = [dims = ItemDims(network)](int, int value, layrub::Level level) {
      return level == layrub::Cut(dims[value]);
    };
    fast.per_byte = 1 / machine.device_link;
    fast.per_second = 1;
    small = fast;
    small.per_resident = 1 / machine.link_down + 1 / machine.link_up;
  }
  SearchGoal tofu, data, chop, rows;
  SearchGoal fast;   ///< least time
  SearchGoal small;  ///< least time if a device's bytes move to the host and back
};

/// What makes one way to divide a net better than another: that it fits the budget, then less time,
/// or a smaller budget if it does not fit.
struct Rank {
  bool misses = false;
  double seconds = 0;  ///< predicted, of an iteration
  int64_t bytes = 0;   ///< the smallest budget
  auto operator<=>(const Rank&) const = default;
};

Rank RankOf(const WantedNets& nets, const PlacementOptions& options) {
  const layrub::Result<caffe::SolverGraphs> graphs = BuildGraphs(nets, options);
  if (!graphs.ok()) Fail(graphs.status().message);
  const layrub::Result<caffe::SolverPlans> plans = caffe::PlanNets(graphs.value(), options);
  if (plans.ok()) {
    const caffe::SizedPlan& train = plans.value().train;
    return {false, Simulate(graphs.value().of(train), *train.plan, options.machine).seconds, 0};
  }
  const layrub::Result<caffe::SolverPlans> smallest = SmallestPlans(graphs.value(), options);
  const int64_t none = std::numeric_limits<int64_t>::max();
  return {true, 0, smallest.ok() ? smallest.value().device_bytes : none};
}

int LevelsFlag() {
  int levels = 0;
  while ((1 << levels) < FLAGS_devices) ++levels;
  if (FLAGS_devices < 2 || FLAGS_devices > kMostDevices || (1 << levels) != FLAGS_devices) {
    Fail(std::to_string(FLAGS_devices) +
         " devices: a net is divided in halves, again and again: among 2, 4, 8, 16, 32 or 64.");
  }
  return levels;
}

}  // namespace

bool PartitionFlagGiven() {
  if (FLAGS_devices == 1 && !FLAGS_partition.empty())
    Fail("--partition says how a net is divided: give --devices=2 or more, too.");
  if (FLAGS_devices != 1 && SolversFlag() > 1) {
    Fail("--devices divides one net; " +
         std::string(FLAGS_cpu_solvers > 1 ? "--cpu_solvers" : "--gpu with several IDs") +
         " makes copies of it: give one of them.");
  }
  return FLAGS_devices != 1;
}

std::vector<std::string> PartitionNames() { return {"auto", "tofu", "data", "chop", "rows"}; }

void CheckPartitionName(const std::string& name) {
  const std::vector<std::string> names = PartitionNames();
  if (std::find(names.begin(), names.end(), name) != names.end()) return;
  std::string list;
  for (const std::string& each : names) list += (list.empty() ? "" : ", ") + each;
  Fail("--partition=" + name + ": there is no such partition; there are " + list + ".");
}

NetDivider::NetDivider(const WantedNets& nets, const Machine& machine)
    : nets_(WithKnownLayers(nets)),
      machine_(machine),
      levels_(LevelsFlag()),
      axes_(AxesOfNet(nets_.net, machine)) {}

std::vector<Partition> NetDivider::Candidates(const std::string& name) const {
  const Goals goals(axes_.network, machine_);
  const std::map<std::string, std::vector<const SearchGoal*>> tried = {
      {"data", {&goals.data}},
      {"chop", {&goals.chop}},
      {"rows", {&goals.rows}},
      {"tofu", {&goals.tofu, &goals.chop, &goals.rows}},
      {"auto", {&goals.fast, &goals.small, &goals.data, &goals.chop, &goals.rows, &goals.tofu}}};
  std::vector<Partition> candidates;
  for (const SearchGoal* goal : tried.at(name)) {
    Partition found = Search(axes_.network, levels_, *goal);
    if (std::find(candidates.begin(), candidates.end(), found) == candidates.end())
      candidates.push_back(std::move(found));
  }
  if (name != "tofu") return candidates;
  const auto bytes = [this](const Partition& partition) {
    return layrub::partition::BytesReceived(axes_.network, partition);
  };
  return {*std::min_element(
      candidates.begin(), candidates.end(),
      [&](const Partition& a, const Partition& b) { return bytes(a) < bytes(b); })};
}

WantedNets NetDivider::Local(const Partition& partition) const {
  WantedNets local = nets_;
  local.net = caffe::LocalNet(axes_, partition);
  for (NetParameter& test : local.tests) {
    const NetAxes of_test = AxesOfNet(test, machine_);
    test = caffe::LocalNet(of_test, caffe::PartitionLike(of_test, axes_, partition));
  }
  return local;
}

double WholeSeconds(const WantedNets& nets, PlacementOptions options, const Machine& machine) {
  options.strategy = "keep";
  options.budget = {};
  options.machine = machine;
  return RankOf(nets, options).seconds;
}

PartitionedNets PartitionOfFlags(const WantedNets& nets, const PlacementOptions& options,
                                 const Machine& alone) {
  PartitionedNets result;
  result.name = FLAGS_partition.empty() ? "auto" : FLAGS_partition;
  CheckPartitionName(result.name);
  result.devices = FLAGS_devices;
  const Activity activity("dividing the net among " + std::to_string(FLAGS_devices) + " devices");
  const std::clock_t begin = std::clock();
  const NetDivider divider(nets, options.machine);
  result.axes = divider.axes();
  std::vector<Partition> candidates = divider.Candidates(result.name);
  result.search_seconds = static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
  std::optional<Rank> least;
  for (Partition& candidate : candidates) {
    WantedNets local = divider.Local(candidate);
    const Rank rank = candidates.size() == 1 ? Rank() : RankOf(local, options);
    if (least && *least <= rank) continue;
    least = rank;
    result.local = std::move(local);
    result.partition = std::move(candidate);
  }
  result.whole_seconds = WholeSeconds(nets, options, alone);
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

std::map<std::string, std::string> LayerAxes(const PartitionedNets& nets) {
  std::map<std::string, std::string> layers;
  const auto& ops = nets.axes.network.operations;
  for (size_t o = 0; o < ops.size(); ++o) {
    std::string axes;
    for (const std::vector<int>& level : nets.partition.axes)
      axes += (axes.empty() ? "" : ", ") + NameOf(ops[o], level[o]);
    layers[ops[o].name] = axes;
  }
  return layers;
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
