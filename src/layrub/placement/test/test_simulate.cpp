#include <gtest/gtest.h>

#include <algorithm>

#include "layrub/placement/cost/timeline.hpp"
#include "layrub/placement/ir/uses.hpp"
#include "layrub/placement/schedule/schedule.hpp"
#include "layrub/placement/test/hand_made.hpp"

namespace layrub::placement {
namespace {

using testing::Chain;
using testing::HandMade;
using testing::Uses;

/// One FLOP/s, one byte/s, and no latency: times are counts.
Machine Unit() { return {"unit", 1, 1, 1, 1, 2, 0}; }

Plan MustSchedule(const Graph& graph, const Program& program) {
  const Result<Plan> plan = schedule::Schedule(graph, program);
  EXPECT_TRUE(plan.ok()) << plan.status().message;
  return plan.ok() ? plan.value() : Plan{};
}

/// `net` with operations that take `seconds` each.
Graph Timed(HandMade net, double seconds) {
  for (Op& op : net.graph.ops) {
    for (Variant& variant : op.variants) variant.flops = seconds;
  }
  return net.graph;
}

template <typename Is>
const Span& SpanOf(const Timeline& timeline, const Plan& plan, Is is) {
  for (const Span& span : timeline.spans) {
    if (is(plan.steps[span.step])) return span;
  }
  ADD_FAILURE() << "there is none";
  return timeline.spans.front();
}

TEST(Simulate, AddsOperationsUp) {
  const Graph graph = Timed(Chain(), 3);
  const Plan plan = MustSchedule(graph, DefaultProgram(graph));
  const Timeline timeline = Simulate(graph, plan, Unit());
  EXPECT_DOUBLE_EQ(timeline.seconds, 21);
  EXPECT_DOUBLE_EQ(timeline.stalled, 0);
  ASSERT_EQ(timeline.spans.size(), 7u);
  for (size_t i = 0; i < 7; ++i) {
    EXPECT_DOUBLE_EQ(timeline.spans[i].begin, 3.0 * static_cast<double>(i));
    EXPECT_EQ(timeline.spans[i].lane, Lane::kCompute);
  }
}

TEST(Simulate, TakesForEverIfLanesWaitForOneAnother) {
  HandMade net;
  const TensorId x = net.Add("x", 256);
  net.Forward("data/forward", Uses({}, {x}));
  Plan plan;
  const auto add = [&plan](StepKind kind, Lane lane) -> Step& {
    Step& step = plan.steps.emplace_back();
    step.kind = kind;
    step.lane = lane;
    return step;
  };
  add(StepKind::kWait, Lane::kCompute).step = 3;
  add(StepKind::kRun, Lane::kCompute).op = 0;
  add(StepKind::kWait, Lane::kSave).step = 1;
  Step& copy = add(StepKind::kCopy, Lane::kSave);
  copy.tier = Tier::kHost;
  copy.tensor = x;
  copy.end = net.graph.tensors[x].bytes;
  EXPECT_EQ(Simulate(net.graph, plan, Unit()).seconds, kNever);
  plan.steps[0].step = kNone;
  plan.steps.erase(plan.steps.begin());  // the copy waits for the operation, and that for nothing
  plan.steps[1].step = 0;
  EXPECT_LT(Simulate(net.graph, plan, Unit()).seconds, kNever);
}

TEST(Simulate, AMoveReadsAndWritesItsBytesOnTheComputeLane) {
  HandMade net;
  const TensorId x = net.Add("x", 256);
  net.Forward("data/forward", Uses({}, {x}));
  net.graph.ops[0].variants[0].flops = 100;
  Plan plan = MustSchedule(net.graph, DefaultProgram(net.graph));
  const auto run = std::find_if(plan.steps.begin(), plan.steps.end(),
                                [](const Step& step) { return step.op != kNone; });
  const auto move = plan.steps.insert(
      run + 1, {.kind = StepKind::kCopy, .tensor = x, .end = net.graph.tensors[x].bytes});
  Machine machine = Unit();
  machine.memory_bandwidth = 2;
  machine.latency = 10;
  const int64_t bytes = net.graph.tensors[x].bytes;
  for (const int pieces : {1, 4}) {
    move->offset = bytes / pieces;
    const Timeline timeline = Simulate(net.graph, plan, machine);
    EXPECT_DOUBLE_EQ(timeline.seconds, 110 + 2 * static_cast<double>(bytes) / 2 + 10 * pieces);
    ASSERT_EQ(timeline.spans.size(), 2u);
    EXPECT_EQ(timeline.spans[1].lane, Lane::kCompute);
  }
}

TEST(Simulate, TakesTheSlowerOfArithmeticAndMemoryPlusLatency) {
  HandMade net;
  const TensorId x = net.Add("x", 1);
  net.Forward("data/forward", Uses({}, {x}));
  net.graph.ops[0].variants[0].flops = 100;
  net.graph.ops[0].variants[0].bytes_moved = 60;
  Machine machine = Unit();
  machine.flops = 10;
  machine.memory_bandwidth = 3;
  machine.latency = 5;
  const Plan plan = MustSchedule(net.graph, DefaultProgram(net.graph));
  EXPECT_DOUBLE_EQ(Simulate(net.graph, plan, machine).seconds, 25);
  net.graph.ops[0].variants[0].algorithms = {
      {kNone, 7, true}};  // a measured time beats the estimate
  EXPECT_DOUBLE_EQ(Simulate(net.graph, plan, machine).seconds, 7);
}

TEST(Simulate, UsesTheTf32RateIfTheVariantAllowsIt) {
  HandMade net;
  net.Forward("data/forward", Uses({}, {net.Add("x", 1)}));
  Variant& variant = net.graph.ops[0].variants[0];
  variant.flops = 100;
  Machine machine = Unit();
  machine.flops = 10;
  const auto seconds = [&] {
    const Plan plan = MustSchedule(net.graph, DefaultProgram(net.graph));
    return Simulate(net.graph, plan, machine).seconds - machine.latency;
  };
  for (const bool tf32 : {false, true}) {
    variant.tf32 = tf32;
    machine.tf32_flops = 0;
    EXPECT_DOUBLE_EQ(seconds(), 10);
    machine.tf32_flops = 50;
    EXPECT_DOUBLE_EQ(seconds(), tf32 ? 2 : 10);
  }
  variant.bytes_moved = 4 * machine.memory_bandwidth;
  EXPECT_DOUBLE_EQ(seconds(), 4) << "memory is no faster for it";
}

TEST(Simulate, HidesACopyBehindTheNextOperation) {
  const Graph graph = Timed(Chain(), 2000);
  Program program = DefaultProgram(graph);
  program.tensors[1].evictions = {{1, 2, 5, 6}};
  const Plan plan = MustSchedule(graph, program);
  const Timeline timeline = Simulate(graph, plan, Unit());
  EXPECT_DOUBLE_EQ(timeline.seconds, 14000);
  EXPECT_DOUBLE_EQ(timeline.stalled, 0);
  const Span& offload = SpanOf(timeline, plan, IsOffload);
  EXPECT_DOUBLE_EQ(offload.begin, 2000);  // x is written by the first operation
  EXPECT_DOUBLE_EQ(offload.end, 2000 + 1024);
  const Span& prefetch = SpanOf(timeline, plan, IsPrefetch);
  EXPECT_DOUBLE_EQ(prefetch.begin, 10000);
  EXPECT_DOUBLE_EQ(prefetch.end, 10000 + 1024);
}

TEST(Simulate, CountsTheTimeThatOperationsWaitForCopies) {
  const Graph graph = Timed(Chain(), 24);
  Program program = DefaultProgram(graph);
  program.tensors[1].evictions = {{1, 2, 5, 6}};
  const Plan plan = MustSchedule(graph, program);
  const Timeline timeline = Simulate(graph, plan, Unit());
  // c waits for the copy of x, in whose bytes it writes (1024 instead of the 2 x 24 passed);
  // a/backward waits for the copy back, which began one operation earlier.
  EXPECT_DOUBLE_EQ(timeline.stalled, (1024 - 2 * 24) + (1024 - 24));
  EXPECT_DOUBLE_EQ(timeline.seconds, 7 * 24 + timeline.stalled);
}

TEST(Simulate, SharesTheLinkBetweenBothDirections) {
  HandMade net;
  const TensorId a = net.Add("a", 4);
  const TensorId b = net.Add("b", 4);
  net.Forward("a/forward", Uses({}, {a}));
  net.Forward("long/forward", Uses({}, {}));
  net.Forward("b/forward", Uses({}, {b}));
  net.Forward("both/forward", Uses({}, {}));
  net.Forward("use/forward", Uses({a, b}, {}));
  net.graph.ops[1].variants[0].flops = 5000;
  // Its workspace covers the bytes to which a comes back, so a cannot come back earlier.
  net.graph.ops[1].variants[0].algorithms = {{net.Add("work", 8, Role::kWorkspace), 0, true}};
  Program program = DefaultProgram(net.graph);
  program.tensors[a].evictions = {{0, 0, 3, 4}};
  program.tensors[b].evictions = {{2, 3, 4, 4}};
  const Plan plan = MustSchedule(net.graph, program);
  Machine machine = Unit();
  const auto copy_of_b = [&] {
    const Timeline timeline = Simulate(net.graph, plan, machine);
    for (const Span& span : timeline.spans) {
      const Step& step = plan.steps[span.step];
      if (IsOffload(step) && step.tensor == b) return span.end - span.begin;
    }
    return 0.0;
  };
  EXPECT_NEAR(copy_of_b(), 1024, 1e-6);
  machine.link_both = 1;  // b goes down while a comes up: half the rate each
  EXPECT_NEAR(copy_of_b(), 2048, 1e-6);
}

TEST(Simulate, AFeedTakesTheTimeOfItsCopiesOnTheLoadLane) {
  Graph graph = Timed(Chain(), 100);
  graph.ops[0].kind = OpKind::kFeed;
  const Plan plan = MustSchedule(graph, DefaultProgram(graph));
  Machine machine = Unit();
  machine.link_up = 2;
  machine.latency = 3;
  const Timeline timeline = Simulate(graph, plan, machine);
  const Span& feed = SpanOf(timeline, plan, [](const Step& step) { return step.op == 0; });
  EXPECT_EQ(feed.lane, Lane::kLoad);
  EXPECT_DOUBLE_EQ(feed.end, 1024 / 2.0 + 3);
  EXPECT_DOUBLE_EQ(timeline.stalled, feed.end) << "the first operation reads what is fed";
  EXPECT_DOUBLE_EQ(timeline.seconds, feed.end + 6 * (100 + 3));
  EXPECT_EQ(OpSeconds(graph.ops[0], 0, 0, machine), 0) << "it takes none of the compute lane";
}

TEST(Simulate, OperationsAndCopiesSlowEachOtherDown) {
  const Graph graph = Timed(Chain(), 2000);
  Program program = DefaultProgram(graph);
  program.tensors[1].evictions = {{1, 2, 5, 6}};
  const Plan plan = MustSchedule(graph, program);
  Machine machine = Unit();
  machine.compute_while_copying = 0.5;
  machine.copy_while_computing = 0.8;
  const Timeline timeline = Simulate(graph, plan, machine);
  const Span& offload = SpanOf(timeline, plan, IsOffload);
  EXPECT_DOUBLE_EQ(offload.end - offload.begin, 1024 / 0.8);
  // During each of the two copies the operations do half of what they do alone.
  EXPECT_DOUBLE_EQ(timeline.seconds, 14000 + 2 * (1024 / 0.8) * 0.5);
  EXPECT_DOUBLE_EQ(timeline.stalled, 0);
}

TEST(OpSeconds, PrefersMeasuredTimes) {
  HandMade net;
  const TensorId x = net.Add("x", 1);
  net.Forward("data/forward", Uses({}, {x}));
  Op op = net.graph.ops[0];
  op.variants[0].name = "y";
  op.variants[0].bytes_moved = 60;
  op.variants.push_back(op.variants[0]);
  op.variants[1].name = "mask";
  op.variants[1].bytes_moved = 30;
  Machine machine = Unit();
  EXPECT_DOUBLE_EQ(OpSeconds(op, 0, 0, machine), 60);
  machine.measured["data/forward"]["y"] = {60, 7};
  EXPECT_DOUBLE_EQ(OpSeconds(op, 0, 0, machine), 7);
  EXPECT_DOUBLE_EQ(OpSeconds(op, 1, 0, machine), 3.5);  // in the proportion of the estimates
  machine.measured["data/forward"]["mask"] = {30, 4};
  EXPECT_DOUBLE_EQ(OpSeconds(op, 1, 0, machine), 4);
  op.variants[0].bytes_moved = op.variants[1].bytes_moved = 600;  // another batch
  EXPECT_DOUBLE_EQ(OpSeconds(op, 0, 0, machine), 600);
}

TEST(Simulate, TakesNoTimeForAnEmptyPlan) {
  const Timeline timeline = Simulate(Graph{}, Plan{}, Machine{});
  EXPECT_EQ(timeline.seconds, 0);
  EXPECT_TRUE(timeline.spans.empty());
}

TEST(Simulate, OperationsWithoutCostEndAtOnce) {
  const Graph graph = Chain().graph;
  const Plan plan = MustSchedule(graph, DefaultProgram(graph));
  EXPECT_EQ(Simulate(graph, plan, Unit()).spans.size(), 7u);
}

}  // namespace
}  // namespace layrub::placement
