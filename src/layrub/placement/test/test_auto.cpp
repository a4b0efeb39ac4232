#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include "layrub/placement/check/check.hpp"
#include "layrub/placement/cost/timeline.hpp"
#include "layrub/placement/ir/program.hpp"
#include "layrub/placement/schedule/schedule.hpp"
#include "layrub/placement/strategies/strategies.hpp"
#include "layrub/placement/strategies/strategy.hpp"
#include "layrub/placement/test/hand_made.hpp"
#include "layrub/placement/test/random_graph.hpp"

namespace layrub::placement {
namespace {

schedule::Choice Choose(const Graph& graph, const Machine& machine, int64_t device) {
  return strategies::FindStrategy("auto").value()(graph, machine, {.device = device}).value();
}

Plan PlanWithin(const Graph& graph, const Machine& machine, int64_t device) {
  const schedule::Choice choice = Choose(graph, machine, device);
  Plan plan = schedule::Schedule(graph, choice.program, choice.options).value();
  EXPECT_EQ(choice.plan.value_or(plan), plan);
  return plan;
}

/// Budgets from the smallest up to what keep takes.
std::vector<int64_t> Budgets(const Graph& graph, const Machine& machine) {
  const int64_t smallest = PlanWithin(graph, machine, 0).device_bytes;
  const int64_t keep = MakePlan(graph, machine, {}, "keep").value().device_bytes;
  std::vector<int64_t> budgets;
  for (int i = 0; i <= 6; ++i) budgets.push_back(smallest + (keep - smallest) * i / 6);
  return budgets;
}

std::vector<Machine> Machines() {
  return {FindMachine("k40").value(), FindMachine("h200").value(), FindMachine("cpu").value()};
}

TEST(Auto, KeepsEverythingOnTheDeviceIfItFits) {
  for (uint64_t seed = 0; seed < 8; ++seed) {
    const Graph graph = testing::RandomGraph(seed, 12);
    const Plan keep = MakePlan(graph, {}, {}, "keep").value();
    for (const int64_t budget : {keep.device_bytes, 2 * keep.device_bytes}) {
      const Plan plan = PlanWithin(graph, {}, budget);
      EXPECT_EQ(plan.readable, keep.readable) << seed;
      EXPECT_EQ(plan.host_bytes, 0);
    }
  }
}

TEST(Auto, MayLeaveReadableTensorsInTheHostTier) {
  constexpr int64_t kBytes = 1 << 20;
  Graph graph;
  graph.name = "unread";
  for (const char* name : {"unread", "a", "b"}) {
    graph.tensors.emplace_back().name = name;
    graph.tensors.back().bytes = kBytes;
  }
  graph.tensors[0].keep = true;
  const auto add = [&](const char* name, const std::vector<TensorId>& reads, TensorId write) {
    Op& op = graph.ops.emplace_back();
    op.name = name;
    op.variants.resize(1);
    op.variants[0].name = "all";
    op.variants[0].reads = reads;
    op.variants[0].writes = {write};
  };
  add("unread/forward", {}, 0);
  add("a/forward", {}, 1);
  add("b/forward", {1}, 2);
  ASSERT_TRUE(Validate(graph).ok());
  EXPECT_EQ(FloorBytes(graph), 2 * kBytes);
  const Plan plan = PlanWithin(graph, {}, 2 * kBytes);
  EXPECT_EQ(plan.device_bytes, 2 * kBytes);
  EXPECT_EQ(plan.readable, std::vector<TensorId>{0});
  EXPECT_EQ(Check(graph, plan), std::vector<std::string>());
}

TEST(Auto, DoesNotDropTensorsThatAreReadBetweenThePasses) {
  // x has to be evicted for k/forward. Recomputing it would take hardly any time, copying it takes
  // 16 s.
  testing::HandMade net;
  const TensorId x = net.Add("x", 8), other = net.Add("other", 8);
  const TensorId h = net.Add("h", 8), k = net.Add("k", 8);
  net.Forward("x/forward", testing::Uses({}, {x, other}));
  net.Forward("h/forward", testing::Uses({}, {h}));
  net.Forward("k/forward", testing::Uses({h}, {k}));
  net.Backward("k/backward", testing::Uses({h, k}, {}));
  net.Backward("x/backward", testing::Uses({x, other}, {}));
  net.graph.ops[0].repeatable = true;
  const int64_t budget = FloorBytes(net.graph);
  EXPECT_EQ(budget, 16 * kAlignment);
  const Machine machine = testing::LinkMachine(1);
  const Plan dropped = PlanWithin(net.graph, machine, budget);
  EXPECT_EQ(dropped.host_bytes, 0);
  net.graph.tensors[x].keep = true;
  const Plan kept = PlanWithin(net.graph, machine, budget);
  EXPECT_EQ(kept.device_bytes, budget);
  EXPECT_EQ(kept.host_bytes, 16 * kAlignment);
  EXPECT_EQ(Check(net.graph, kept), std::vector<std::string>());
  // Check objects to the plan that drops it if the graph marks it keep.
  Plan wrong = dropped;
  wrong.readable = {x};
  const std::vector<std::string> objections = Check(net.graph, wrong);
  const std::string said = "after the forward pass x cannot be read, although it is marked keep";
  EXPECT_EQ(std::count(objections.begin(), objections.end(), said), 1);
}

TEST(Auto, FitsEveryBudgetFromItsSmallestUp) {
  for (uint64_t seed = 0; seed < 8; ++seed) {
    const Graph graph = testing::RandomGraph(seed, 12);
    for (const Machine& machine : Machines()) {
      for (const int64_t budget : Budgets(graph, machine)) {
        EXPECT_LE(PlanWithin(graph, machine, budget).device_bytes, budget) << seed;
      }
    }
  }
}

TEST(Auto, IsNeverSlowerThanAnotherStrategyThatFits) {
  for (uint64_t seed = 0; seed < 8; ++seed) {
    const Graph graph = testing::RandomGraph(seed, 12);
    for (const Machine& machine : Machines()) {
      std::vector<int64_t> budgets = Budgets(graph, machine);
      budgets.pop_back();  // if everything fits, keeping it counts more than time
      for (const int64_t budget : budgets) {
        const Plan found = MakePlan(graph, machine, {.device = budget}, "auto").value();
        const double seconds = Simulate(graph, found, machine).seconds;
        for (const std::string& other : StrategyNames()) {
          const Result<Plan> plan = MakePlan(graph, machine, {.device = budget}, other);
          if (!plan.ok()) continue;
          // Another packing of the same program waits a little longer or shorter.
          EXPECT_LE(seconds, Simulate(graph, plan.value(), machine).seconds * 1.02)
              << seed << " " << other << " " << machine.name << " " << budget;
        }
      }
    }
  }
}

TEST(Auto, IsNotSlowerWithMoreMemory) {
  for (uint64_t seed = 0; seed < 8; ++seed) {
    const Graph graph = testing::RandomGraph(seed, 12);
    for (const Machine& machine : Machines()) {
      double before = std::numeric_limits<double>::infinity();
      std::vector<int64_t> budgets = Budgets(graph, machine);
      budgets.back() -= 1;  // if everything fits, keeping it counts more than a faster variant
      for (const int64_t budget : budgets) {
        const double seconds = Simulate(graph, PlanWithin(graph, machine, budget), machine).seconds;
        EXPECT_LE(seconds, before * (1 + 1e-9)) << seed << " " << machine.name << " " << budget;
        before = seconds;
      }
    }
  }
}

TEST(Auto, StaysWithinAHostBudget) {
  int within = 0;
  for (uint64_t seed = 0; seed < 8; ++seed) {
    const Graph graph = testing::RandomGraph(seed, 12);
    const int64_t budget = Budgets(graph, {})[3];
    const Result<Plan> plan = MakePlan(graph, {}, {.device = budget, .host = 0}, "auto");
    if (!plan.ok()) continue;
    EXPECT_EQ(plan.value().host_bytes, 0);
    ++within;
  }
  EXPECT_GT(within, 0);
}

}  // namespace
}  // namespace layrub::placement
