// Compares the predicted times of the plans of `auto` with those of all other strategies within
// falling budgets. bench/bench_placement.py makes its table from the output.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <ctime>
#include <iostream>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "caffe/util/blas_memory.hpp"
#include "layrub/base/input.hpp"
#include "layrub/base/standard_streams.hpp"
#include "layrub/placement/cost/timeline.hpp"
#include "layrub/placement/ir/graph.hpp"
#include "layrub/placement/strategies/strategy.hpp"

namespace {

using layrub::Graph;
using layrub::Machine;
using layrub::Plan;
using layrub::Result;

constexpr int64_t kUnlimited = std::numeric_limits<int64_t>::max();
const char* const kUsage =
    "usage: time_plans GRAPH MACHINE PARTS STEPS [SEED [WITHOUT]]\n"
    "  GRAPH    graph.txt, as written by layrub plan --dump\n"
    "  MACHINE  name of a machine\n"
    "  PARTS    comma list: budgets, in parts of the floor\n"
    "  STEPS    so many budgets more, in equal ratios from the last of these to what keep takes\n"
    "  SEED     where the random numbers of auto's search begin\n"
    "  WITHOUT  what auto leaves out: policies, presets, rematerialization, link_clock, "
    "local_search,\n"
    "           partial_eviction or slack\n"
    "Prints a JSON object a line: one for the graph, then one for each budget.\n";

[[noreturn]] void Fail(const std::string& message) {
  std::cerr << "time_plans: " << message << "\n";
  std::exit(1);
}

template <typename T>
T ValueOrFail(Result<T> result) {
  if (!result.ok()) Fail(result.status().message);
  return std::move(result.value());
}

/// `text` as a number that is not negative. The whole text must be a number.
template <typename T>
T Number(const char* argument, const std::string& text) {
  T number{};
  const char* const end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, number);
  if (read.ec == std::errc() && read.ptr == end && number >= 0) return number;
  Fail(std::string(argument) + ": '" + text + "' is no number from 0 upwards");
}

/// Turns off the part `name` of the search.
void LeaveOut(const std::string& name, layrub::SearchOptions* options) {
  using layrub::SearchOptions;
  static const std::map<std::string, bool SearchOptions::*> parts{
      {"policies", &SearchOptions::policies},
      {"presets", &SearchOptions::presets},
      {"rematerialization", &SearchOptions::rematerialization},
      {"link_clock", &SearchOptions::link_clock},
      {"local_search", &SearchOptions::local_search},
      {"partial_eviction", &SearchOptions::partial_eviction},
      {"slack", &SearchOptions::slack},
  };
  const auto part = parts.find(name);
  if (part == parts.end()) Fail("WITHOUT: auto has no part '" + name + "'");
  options->*part->second = false;
}

/// The budgets in bytes, ascending, without those above what keep takes, for which all plans are
/// alike.
std::vector<int64_t> Budgets(const std::string& parts, int steps, double floor, double keep) {
  std::vector<int64_t> budgets;
  std::istringstream list(parts);
  for (std::string part; std::getline(list, part, ',');) {
    const double bytes = std::ceil(Number<double>("PARTS", part) * floor);
    if (bytes < keep) budgets.push_back(static_cast<int64_t>(bytes));
  }
  const double first = budgets.empty() ? floor : static_cast<double>(budgets.back());
  for (int i = 1; i <= steps; ++i) {
    budgets.push_back(static_cast<int64_t>(first * std::pow(keep / first, i / (steps + 1.0))));
  }
  return budgets;
}

/// Makes plans of strategies within budgets. A strategy that does not use its budget is planned
/// once.
class Planner {
 public:
  Planner(const Graph& graph, const Machine& machine, const layrub::SearchOptions& options)
      : graph_(graph), machine_(machine), options_(options) {}

  Plan Within(const std::string& strategy, int64_t budget) const {
    return ValueOrFail(
        MakePlanOfAnySize(graph_, machine_, {.device = budget}, strategy, 0, options_));
  }
  double Seconds(const Plan& plan) const { return Simulate(graph_, plan, machine_).seconds; }

  void PlanOthers() {
    for (const std::string& name : layrub::StrategyNames()) {
      if (layrub::UsesCosts(name)) continue;
      const Plan plan = Within(name, kUnlimited);
      if (plan == Within(name, 0)) {
        fixed_.push_back(plan);
      } else {
        adaptive_.push_back(name);
      }
    }
  }

  /// Name and seconds of the fastest other strategy that fits; empty and infinite if there is none.
  std::pair<std::string, double> FastestOther(int64_t budget) const {
    std::pair<std::string, double> fastest{"", std::numeric_limits<double>::infinity()};
    std::vector<Plan> plans = fixed_;
    for (const std::string& name : adaptive_) plans.push_back(Within(name, budget));
    for (const Plan& plan : plans) {
      if (plan.device_bytes > budget) continue;
      const double seconds = Seconds(plan);
      if (seconds < fastest.second) fastest = {plan.strategy, seconds};
    }
    return fastest;
  }

 private:
  const Graph& graph_;
  const Machine& machine_;
  const layrub::SearchOptions options_;
  std::vector<Plan> fixed_;
  std::vector<std::string> adaptive_;
};

Graph ReadGraph(const std::string& path) {
  const Result<Graph> graph = layrub::GraphFromText(ValueOrFail(layrub::ReadText(path)));
  if (!graph.ok()) Fail(path + ": " + graph.status().message);
  return graph.value();
}

double CpuSeconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

}  // namespace

int main(int argc, char** argv) {
  layrub::GuardStandardStreams("time_plans");
  caffe::FitBlasIntoAddressSpace(argv);
  if (argc < 5 || argc > 7) {
    std::cerr << kUsage;
    return 1;
  }
  layrub::SearchOptions options;
  if (argc > 5) options.seed = Number<uint32_t>("SEED", argv[5]);
  if (argc > 6) LeaveOut(argv[6], &options);
  const Graph graph = ReadGraph(argv[1]);
  const Machine machine = ValueOrFail(layrub::FindMachine(argv[2]));
  Planner planner(graph, machine, options);
  planner.PlanOthers();
  const int64_t floor = FloorBytes(graph);
  const int64_t keep = planner.Within("keep", kUnlimited).device_bytes;
  const nlohmann::ordered_json head = {
      {"operations", graph.ops.size()},
      {"floor_bytes", floor},
      {"state_floor_bytes", StateFloorBytes(graph)},
      {"keep_bytes", keep},
      {"smallest_bytes", planner.Within("auto", 0).device_bytes},
  };
  std::cout << head << std::endl;
  for (const int64_t budget : Budgets(argv[3], Number<int>("STEPS", argv[4]),
                                      static_cast<double>(floor), static_cast<double>(keep))) {
    const double begin = CpuSeconds();
    const Plan plan = planner.Within("auto", budget);
    const double planning = CpuSeconds() - begin;
    const auto [other, other_seconds] = planner.FastestOther(budget);
    const nlohmann::ordered_json row = {
        {"budget_bytes", budget},
        {"device_bytes", plan.device_bytes},
        {"seconds", planner.Seconds(plan)},
        {"floor_seconds", TimeFloor(graph, machine, budget)},
        {"planning_seconds", planning},
        {"other", other},
        {"other_seconds",
         other.empty() ? nlohmann::ordered_json() : nlohmann::ordered_json(other_seconds)},
    };
    std::cout << row << std::endl;
  }
}
