// Recomputations: what a program may ask for, the steps that follow, the runs that restore dropped
// tensors, and the strategy sqrt.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>

#include "layrub/placement/check/check.hpp"
#include "layrub/placement/cost/timeline.hpp"
#include "layrub/placement/ir/uses.hpp"
#include "layrub/placement/policies/recompute.hpp"
#include "layrub/placement/schedule/schedule.hpp"
#include "layrub/placement/strategies/strategy.hpp"
#include "layrub/placement/test/hand_made.hpp"

namespace layrub::placement::policies {
namespace {

using testing::Chain;
using testing::HandMade;
using testing::Names;
using testing::Steps;
using testing::Uses;
using Lines = std::vector<std::string>;

/// Chain() with repeatable forwards, except for the data.
///   tensors: 0 w, 1 x, 2 a, 3 b, 4 c, 5 b.grad, 6 a.grad; operations: forward 0..3, backward 4..6
Graph RepeatableChain() {
  Graph graph = Chain().graph;
  for (const OpId o : {1, 2, 3}) graph.ops[o].repeatable = true;
  return graph;
}

placement::Run Again(OpId op) {
  placement::Run run;
  run.op = op;
  run.recompute = true;
  return run;
}

/// The chain's default program with recomputations of these operations just before b/backward.
Program BeforeBackwardOfB(const Graph& graph, const std::vector<OpId>& ops) {
  Program program = DefaultProgram(graph);
  auto place = program.runs.begin() + 5;
  for (const OpId o : ops) place = program.runs.insert(place, Again(o)) + 1;
  return program;
}

Plan MustSchedule(const Graph& graph, const Program& program) {
  const Result<Plan> plan = schedule::Schedule(graph, program);
  EXPECT_TRUE(plan.ok()) << plan.status().message;
  if (!plan.ok()) return {};
  const std::vector<std::string> objections = Check(graph, plan.value());
  EXPECT_TRUE(objections.empty()) << objections.front();
  return plan.value();
}

std::string Refusal(const Graph& graph, const Program& program) {
  const Status status = schedule::Schedule(graph, program).status();
  EXPECT_EQ(status.code, Code::kInvalid);
  return status.message;
}

Lines RunNames(const Graph& graph, const std::vector<placement::Run>& runs) {
  Lines names;
  for (const placement::Run& run : runs)
    names.push_back((run.recompute ? "again " : "") + graph.ops[run.op].name);
  return names;
}

TEST(Recompute, RestoresADroppedTensorWithoutACopy) {
  const Graph graph = RepeatableChain();
  Program program = BeforeBackwardOfB(graph, {1});
  program.tensors[2].evictions = {{2, 2, 5, 5, true}};
  const Plan plan = MustSchedule(graph, program);
  EXPECT_EQ(Steps(graph, plan), (Lines{"alloc device x 256",
                                       "run data/forward variant=0 algorithm=0",
                                       "alloc device a 1280",
                                       "run a/forward variant=0 algorithm=0",
                                       "alloc device b 2304",
                                       "run b/forward variant=0 algorithm=0",
                                       "free device a",
                                       "alloc device c 1280",
                                       "run c/forward variant=0 algorithm=0",
                                       "alloc device b.grad 3328",
                                       "run c/backward variant=0 algorithm=0",
                                       "free device b",
                                       "free device c",
                                       "alloc device a 1280",
                                       "run a/forward variant=0 algorithm=0 recompute",
                                       "alloc device a.grad 2304",
                                       "run b/backward variant=0 algorithm=0",
                                       "free device a",
                                       "free device b.grad",
                                       "run a/backward variant=0 algorithm=0",
                                       "free device x",
                                       "free device a.grad"}));
  EXPECT_EQ(plan.pass_end, (std::array<int32_t, 3>{9, 22, 22}));
}

TEST(Recompute, TakesTheTimeOfTheOperation) {
  Graph graph = RepeatableChain();
  for (Op& op : graph.ops) op.variants[0].flops = 1e9;
  Program program = DefaultProgram(graph);
  const double once = Simulate(graph, MustSchedule(graph, program), {}).seconds;
  program = BeforeBackwardOfB(graph, {1, 2});
  const double again = Simulate(graph, MustSchedule(graph, program), {}).seconds;
  EXPECT_NEAR(again, once * 9 / 7, 1e-9);
}

TEST(Recompute, MayFollowAnOffload) {
  const Graph graph = RepeatableChain();
  Program program = BeforeBackwardOfB(graph, {1});
  // x is fetched for the recomputation; b is copied, fetched for c/backward and dropped.
  program.tensors[1].evictions = {{1, 1, 5, 5}};
  program.tensors[2].evictions = {{2, 3, 5, 5, true}};
  const Lines steps = Steps(graph, MustSchedule(graph, program));
  EXPECT_EQ(std::count(steps.begin(), steps.end(), "copy host device x"), 1);
  EXPECT_EQ(std::count(steps.begin(), steps.end(), "copy device host a"), 0);

  program = BeforeBackwardOfB(graph, {1, 2});
  program.tensors[3].evictions = {{2, 2, 3, 3}, {3, 3, 4, 4}, {4, 4, 6, 6, true}};
  const Lines more = Steps(graph, MustSchedule(graph, program));
  EXPECT_EQ(std::count(more.begin(), more.end(), "copy device host b"), 1);
  EXPECT_EQ(std::count(more.begin(), more.end(), "copy host device b"), 2);
  EXPECT_EQ(std::count(more.begin(), more.end(), "run b/forward variant=0 algorithm=0 recompute"),
            1);
}

TEST(Recompute, LeavesAHostCopyValid) {
  Graph graph = RepeatableChain();
  graph.tensors[2].keep = true;
  Program program = BeforeBackwardOfB(graph, {1});
  program.tensors[2].evictions = {{1, 1, 2, 2}, {2, 2, 5, 5, true}};
  const Plan plan = MustSchedule(graph, program);
  const Lines steps = Steps(graph, plan);
  EXPECT_EQ(Names(graph, plan.readable), (Lines{"a"}));
  EXPECT_EQ(std::count(steps.begin(), steps.end(), "free host a"), 0);
  EXPECT_EQ(std::count(steps.begin(), steps.end(), "free device a"), 3);
}

TEST(Recompute, IsRefusedForATensorReadBetweenThePasses) {
  Graph graph = RepeatableChain();
  graph.tensors[2].keep = true;
  Program program = BeforeBackwardOfB(graph, {1});
  program.tensors[2].evictions = {{2, 2, 5, 5, true}};
  EXPECT_EQ(Refusal(graph, program),
            "tensor a: it is marked keep, so it must be readable between the passes, but it is "
            "dropped after b/forward");
  program.tensors[2].evictions = {{2, 4, 5, 5, true}};  // freed after the forward pass has ended
  EXPECT_EQ(Names(graph, MustSchedule(graph, program).readable), (Lines{"a"}));
}

TEST(Recompute, WritesTheSameBitsOverATensorThatStayed) {
  const Graph graph = RepeatableChain();
  const Lines steps = Steps(graph, MustSchedule(graph, BeforeBackwardOfB(graph, {1})));
  EXPECT_EQ(std::count(steps.begin(), steps.end(), "alloc device a 1280"), 1);
}

TEST(Recompute, WaitsForTheCopyThatReadsWhatItOverwrites) {
  const Graph graph = RepeatableChain();
  Program program = DefaultProgram(graph);
  program.runs.insert(program.runs.begin() + 3, Again(1));
  program.tensors[2].evictions = {{2, 2, 3, 3}, {3, 4, 5, 6}};
  // The prefetch before the recomputation is useless but legal: the copies and the recomputation
  // touch the same bytes.
  const Lines steps = Steps(graph, MustSchedule(graph, program));
  const auto again =
      std::find(steps.begin(), steps.end(), "run a/forward variant=0 algorithm=0 recompute");
  ASSERT_NE(again, steps.end());
  EXPECT_EQ((again - 1)->substr(0, 12), "wait compute");
}

TEST(Recompute, RunsInPlaceIfTheFirstRunCould) {
  HandMade net;
  const TensorId x = net.Add("x", 4), y = net.Add("y", 4), z = net.Add("z", 4);
  net.Forward("x/forward", Uses({}, {x}));
  net.Forward("y/forward", Uses({x}, {y}));
  net.Forward("z/forward", Uses({y}, {z}, {{z, y}}));
  net.Backward("z/backward", Uses({z}, {}));
  for (const OpId o : {1, 2}) net.graph.ops[o].repeatable = true;
  Program program = DefaultProgram(net.graph);
  program.runs.insert(program.runs.begin() + 3, {Again(1), Again(2)});
  program.tensors[y].evictions = {{2, 2, 3, 3, true}};
  program.tensors[z].evictions = {{2, 2, 4, 4, true}};
  for (const RunId r : {2, 4}) program.runs[r].aliases = {{z, y}};
  EXPECT_EQ(MustSchedule(net.graph, program).device_bytes, 8 * kAlignment);
  program.tensors[y].evictions.clear();
  EXPECT_NE(Refusal(net.graph, program).find("z cannot lie on y"), std::string::npos);
}

TEST(Recompute, DoesNotUpdateState) {
  HandMade net;
  const TensorId mean = net.Add("mean", 1, Role::kParameter);
  const TensorId x = net.Add("x", 4), y = net.Add("y", 4);
  net.Forward("x/forward", Uses({}, {x}));
  net.Forward("bn/forward", Uses({x, mean}, {y, mean}));
  net.Backward("bn/backward", Uses({x, y}, {}));
  net.graph.ops[1].repeatable = true;
  Program program = DefaultProgram(net.graph);
  program.runs.insert(program.runs.begin() + 2, Again(1));
  program.tensors[y].evictions = {{1, 1, 2, 2, true}};
  MustSchedule(net.graph, program);
  EXPECT_EQ(FindUses(net.graph, program.runs)[mean].size(), 1u);
}

TEST(Recompute, IsRefusedIfItCouldGiveOtherBits) {
  HandMade net;
  const TensorId x = net.Add("x", 4), y = net.Add("y", 4);
  const TensorId work = net.Add("work", 4, Role::kWorkspace);
  net.Forward("x/forward", Uses({}, {x}));
  net.Forward("y/forward", Uses({x}, {y}));
  net.Forward("change/forward", Uses({x}, {x}));
  net.Forward("sum/forward", Uses({y}, {y}));
  net.Backward("y/backward", Uses({x, y}, {}));
  for (Op& op : net.graph.ops) op.repeatable = true;
  net.graph.ops[1].variants[0].algorithms = {{kNone, 0, true}, {work, 0, false}};
  struct Case {
    placement::Run run;
    int place;
    std::string message;
    std::function<void(Graph*, Program*)> spoil = [](Graph*, Program*) {};
  };
  const std::vector<Case> cases{
      {Again(1), 1, "y/forward: it cannot run again: it has not run before"},
      {Again(1), 3, "y/forward: it cannot run again: x, which it reads, was written since"},
      {Again(0), 3, "x/forward: it cannot run again: x has a newer value than it writes"},
      {Again(2), 3, "change/forward: it cannot run again: x, which it reads, was written since"},
      {Again(4), 5, "y/backward: it cannot run again: it is not a repeatable forward"},
      {Again(0), 1, "x/forward: it cannot run again: it is not a repeatable forward",
       [](Graph* graph, Program*) { graph->ops[0].repeatable = false; }},
      {Again(1), 2, "y/forward: it cannot run again: its variant and its algorithm do not promise",
       [](Graph*, Program* d) { d->runs[1].algorithm = 1; }},
      {Again(1), 2, "y/forward: it cannot run again: its variant and its algorithm do not promise",
       [](Graph*, Program* d) { d->runs[1].algorithm = d->runs[2].algorithm = 1; }},
  };
  for (const Case& wrong : cases) {
    Graph graph = net.graph;
    Program program = DefaultProgram(graph);
    program.runs.insert(program.runs.begin() + wrong.place, wrong.run);
    wrong.spoil(&graph, &program);
    const std::string message = Refusal(graph, program);
    EXPECT_NE(message.find(wrong.message), std::string::npos) << message;
  }
}

TEST(Recompute, ADroppedTensorThatIsReadIsRefused) {
  const Graph graph = RepeatableChain();
  Program program = DefaultProgram(graph);
  program.tensors[2].evictions = {{2, 2, 5, 5, true}};
  EXPECT_EQ(Refusal(graph, program), "tensor a: b/backward needs its value, which was dropped");
}

TEST(Producers, AreRepeatableForwardsWithUnchangedOperands) {
  Graph graph = RepeatableChain();
  const auto producers = [&graph] { return Producers(graph, DefaultProgram(graph).runs); };
  EXPECT_EQ(producers(), (std::vector<OpId>{kNone, kNone, 1, 2, 3, kNone, kNone}));
  graph.ops[5].variants[0].writes.push_back(3);  // b/backward changes b
  EXPECT_EQ(producers(), (std::vector<OpId>{kNone, kNone, 1, kNone, kNone, kNone, kNone}));
  graph.ops[1].variants[0].algorithms = {{kNone, 0, false}};
  EXPECT_EQ(producers()[2], kNone);
}

TEST(AppendReplay, RestoresMissingTensorsOnceAndInOrder) {
  const Graph graph = RepeatableChain();
  const std::vector<placement::Run> originals = DefaultProgram(graph).runs;
  const std::vector<OpId> producers = Producers(graph, originals);
  std::vector<bool> away(graph.tensors.size());
  std::vector<placement::Run> runs;
  AppendReplay(graph, originals, producers, {2, 3}, &away, &runs);
  EXPECT_TRUE(runs.empty());
  away[2] = away[3] = away[4] = true;
  AppendReplay(graph, originals, producers, {4}, &away, &runs);
  EXPECT_EQ(RunNames(graph, runs),
            (Lines{"again a/forward", "again b/forward", "again c/forward"}));
  EXPECT_EQ(std::count(away.begin(), away.end(), true), 0);
  away[3] = true;
  AppendReplay(graph, originals, producers, {2, 3}, &away, &runs);
  EXPECT_EQ(runs.size(), 4u);
  EXPECT_EQ(runs.back().op, 2);
}

TEST(RecomputeOnce, RecomputesAnOperationBeforeItsFirstBackwardReader) {
  const Graph graph = RepeatableChain();
  Program program = DefaultProgram(graph);
  RecomputeOnce(graph, {false, false, true, true, false, false, false}, &program);
  EXPECT_EQ(RunNames(graph, program.runs),
            (Lines{"data/forward", "a/forward", "b/forward", "c/forward", "again a/forward",
                   "again b/forward", "c/backward", "b/backward", "a/backward"}));
  EXPECT_EQ(program.tensors[2].evictions, (ShortList<Eviction>{{2, 2, 4, 4, true}}));
  EXPECT_EQ(program.tensors[3].evictions, (ShortList<Eviction>{{3, 3, 5, 5, true}}));
  MustSchedule(graph, program);
}

/// A net of `layers` layers y1, y2, ... one after the other; each backward reads what its forward
/// reads. All tensors have 4 units.
Graph Straight(int layers) {
  HandMade net;
  std::vector<TensorId> y, dy;
  for (int i = 0; i <= layers; ++i) y.push_back(net.Add("y" + std::to_string(i), 4));
  for (int i = 0; i <= layers; ++i)
    dy.push_back(net.Add("y" + std::to_string(i) + ".grad", 4, Role::kActivationGradient));
  net.Forward("data/forward", Uses({}, {y[0]}));
  for (int i = 1; i <= layers; ++i) {
    const OpId o = net.Forward("f" + std::to_string(i), Uses({y[i - 1]}, {y[i]}));
    net.graph.ops[o].repeatable = true;
  }
  net.Backward("loss/backward", Uses({y[layers]}, {dy[layers]}));
  for (int i = layers; i > 0; --i)
    net.Backward("b" + std::to_string(i),
                 Uses({y[i - 1], dy[i]}, {dy[i - 1]}, {{dy[i - 1], dy[i]}}));
  return net.graph;
}

TEST(Sqrt, KeepsAboutTwoSquareRootsOfAChain) {
  for (const int layers : {8, 15, 24, 99, 399}) {
    const Graph graph = Straight(layers);
    const Plan plan = MakePlan(graph, {}, {}, "sqrt").value();
    EXPECT_EQ(Check(graph, plan), Lines{});
    const auto root = static_cast<int64_t>(std::ceil(std::sqrt(layers + 1)));
    EXPECT_LE(plan.device_bytes, 4 * (2 * root + 1) * kAlignment) << layers;
    int again = 0;
    for (const Step& step : plan.steps) again += step.recompute;
    EXPECT_LT(again, layers);
    EXPECT_EQ(plan.host_bytes, 0);
  }
}

TEST(Sqrt, KeepsWhatCannotBeRecomputed) {
  Graph graph = Straight(24);
  for (Op& op : graph.ops) op.repeatable = false;
  const Plan plan = MakePlan(graph, {}, {}, "sqrt").value();
  EXPECT_EQ(plan.device_bytes, MakePlan(graph, {}, {}, "liveness").value().device_bytes);
  graph = Straight(24);
  graph.ops[3].repeatable = false;
  const Lines steps = Steps(graph, MakePlan(graph, {}, {}, "sqrt").value());
  EXPECT_EQ(std::count(steps.begin(), steps.end(), "run f3 variant=0 algorithm=0 recompute"), 0);
  EXPECT_EQ(std::count(steps.begin(), steps.end(), "free device y3"), 1);
}

}  // namespace
}  // namespace layrub::placement::policies
