#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "layrub/base/text.hpp"
#include "layrub/placement/check/check.hpp"
#include "layrub/placement/cost/shared_link.hpp"
#include "layrub/placement/cost/timeline.hpp"
#include "layrub/placement/ir/uses.hpp"
#include "layrub/placement/schedule/schedule.hpp"
#include "layrub/placement/strategies/strategies.hpp"
#include "layrub/placement/test/hand_made.hpp"
#include "layrub/placement/test/random_graph.hpp"
#include "layrub/placement/test/strategy_kinds.hpp"

// What does not fit into host memory goes to a file.
namespace layrub::placement {
namespace {

using testing::Chain;
using testing::HandMade;
using testing::LinkMachine;

constexpr TensorId w = 0, x = 1, a = 2;
constexpr int64_t kUnit = kAlignment;

/// x and a, of four units, are evicted between their two uses, x for longer than a.
Program BothLeave(const Graph& graph) {
  Program program = DefaultProgram(graph);
  program.tensors[x].evictions = {{1, 1, 6, 6}};
  program.tensors[a].evictions = {{2, 2, 5, 5}};
  return program;
}

Plan InHostMemory(const Graph& graph, const Program& program, int64_t bytes) {
  Plan plan = schedule::Schedule(graph, program, {.host_bytes = bytes}).value();
  EXPECT_EQ(Join(Check(graph, plan), "\n"), "");
  EXPECT_LE(plan.host_bytes, bytes);
  return plan;
}

/// The tier to which `tensor` is copied: "host", "file", or "".
std::string TierOf(const Plan& plan, TensorId tensor) {
  for (const Step& step : plan.steps) {
    if (IsOffload(step) && step.tensor == tensor) return Name(step.tier);
  }
  return "";
}

TEST(Spill, UsesHostMemoryFirst) {
  const Graph graph = Chain().graph;
  const Plan plan = InHostMemory(graph, BothLeave(graph), 8 * kUnit);
  EXPECT_EQ(TierOf(plan, x) + TierOf(plan, a), "hosthost");
  EXPECT_EQ(plan.spill_bytes, 0);
}

TEST(Spill, PutsTheLongestEvictionsIntoTheFile) {
  const Graph graph = Chain().graph;
  const Plan plan = InHostMemory(graph, BothLeave(graph), 7 * kUnit);
  EXPECT_EQ(TierOf(plan, x), "file");
  EXPECT_EQ(TierOf(plan, a), "host");
  EXPECT_EQ(plan.host_bytes, 4 * kUnit);
  EXPECT_EQ(plan.spill_bytes, 4 * kUnit);
}

TEST(Spill, PutsEverythingIntoTheFileWithoutHostMemory) {
  const Graph graph = Chain().graph;
  const Plan plan = InHostMemory(graph, BothLeave(graph), 0);
  EXPECT_EQ(TierOf(plan, x) + TierOf(plan, a), "filefile");
  EXPECT_EQ(plan.spill_bytes, 8 * kUnit);
}

TEST(Spill, KeepsStateInTheFileBetweenIterations) {
  const Graph graph = Chain().graph;
  Program program = BothLeave(graph);
  const UseLists uses = FindUses(graph, program.runs);
  program.tensors[w].home = StateHome::kAway;
  program.tensors[w].evictions = {FromTheStart(uses[w].front()),
                                  ToTheEnd(uses[w].back(), program.runs)};
  const Plan plan = InHostMemory(graph, program, 8 * kUnit);
  ASSERT_EQ(plan.homes.size(), 1u);
  EXPECT_EQ(plan.homes[0].tier, Tier::kFile);
  EXPECT_EQ(TierOf(plan, x) + TierOf(plan, a), "hosthost");
}

TEST(Spill, RunsBesideTheLanesOfTheLink) {
  const Graph graph = Chain().graph;
  const Plan plan = InHostMemory(graph, BothLeave(graph), 4 * kUnit);
  for (const Step& step : plan.steps) {
    if (step.kind != StepKind::kCopy) continue;
    EXPECT_EQ(step.lane, step.tensor == x ? (IsOffload(step) ? Lane::kSpill : Lane::kFetch)
                                          : (IsOffload(step) ? Lane::kSave : Lane::kLoad));
  }
  Machine machine = LinkMachine(4);  // a second for each copy of a
  machine.file_write = machine.link_down / 3;
  machine.file_read = machine.link_down / 5;
  const Timeline timeline = Simulate(graph, plan, machine);
  for (const Span& span : timeline.spans) {
    const Step& step = plan.steps[span.step];
    if (step.kind != StepKind::kCopy) continue;
    EXPECT_NEAR(span.end - span.begin, step.tensor == a ? 1 : IsOffload(step) ? 3 : 5, 1e-6);
  }
}

TEST(Spill, IsRefusedInAnotherLaneOrWithoutAWait) {
  const Graph graph = Chain().graph;
  const Plan plan = InHostMemory(graph, BothLeave(graph), 4 * kUnit);
  int found = 0;
  for (size_t i = 0; i < plan.steps.size(); ++i) {
    Plan wrong = plan;
    Step& step = wrong.steps[i];
    if (step.lane == Lane::kSpill && step.kind == StepKind::kCopy) step.lane = Lane::kSave;
    if (step.kind == StepKind::kWait && plan.steps[step.step].lane == Lane::kFetch)
      step.step = 1;  // the first operation
    if (step == plan.steps[i]) continue;
    ++found;
    EXPECT_NE(Join(Check(graph, wrong), ""), "") << "step " << i;
  }
  EXPECT_GE(found, 1);
  EXPECT_EQ(Check(graph, plan, {.spill = plan.spill_bytes - 1}),
            (std::vector<std::string>{"the file arena takes 1024 bytes, the budget is 1023"}));
}

TEST(Spill, ReportsTheBytesThatWouldSuffice) {
  const Graph graph = Chain().graph;
  const Plan moved = MakePlan(graph, {}, {}, "inter").value();
  ASSERT_GT(moved.host_bytes, kUnit);
  const Budget budget{.host = 0, .spill = kUnit};
  const Status status = MakePlan(graph, {}, budget, "inter").status();
  const std::string needs = std::to_string(moved.host_bytes);
  EXPECT_NE(status.message.find("(" + needs + " bytes) of the spill file"), std::string::npos)
      << status.message;
  EXPECT_NE(status.message.find("--spill_memory=" + needs), std::string::npos) << status.message;
}

/// With a file, a plan within half of the host memory needs no more device memory, unless
/// operations use state in host memory.
TEST(Spill, WorksUnderEveryStrategy) {
  int64_t spilled = 0;
  for (const std::string& strategy : StrategyNames()) {
    for (int seed = 1; seed <= 10; ++seed) {
      Graph graph = testing::RandomGraph(seed, 20);
      for (Tensor& tensor : graph.tensors) tensor.host_access = false;
      const int64_t device = testing::SmallestBudget(graph, strategy);
      const Plan plan = MakePlan(graph, {}, {.device = device}, strategy).value();
      const Budget budget{
          .device = device, .host = plan.host_bytes / 2, .spill = kUnlimitedBudget.spill};
      const Result<Plan> half = MakePlan(graph, {}, budget, strategy);
      ASSERT_TRUE(half.ok()) << strategy << ": " << half.status().message;
      EXPECT_EQ(Join(Check(graph, half.value(), budget), "\n"), "") << strategy;
      spilled += half.value().spill_bytes;
    }
  }
  EXPECT_GT(spilled, 0);
}

TEST(OffloadRates, AreTheSumOfLinkAndFile) {
  const Machine machine = LinkMachine(4);
  EXPECT_EQ(OffloadRates(machine, {}).link_up, machine.link_up);
  EXPECT_EQ(OffloadRates(machine, {.host = 0, .spill = 1}).link_up, machine.file_read);
  EXPECT_EQ(OffloadRates(machine, kUnlimitedBudget).link_down,
            machine.link_down + machine.file_write);
}

}  // namespace
}  // namespace layrub::placement
