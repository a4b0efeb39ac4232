// The rules of SuperNeurons: what its cache moves and when, what is recomputed, and which step a
// budget takes.
#include <gtest/gtest.h>

#include <algorithm>

#include "layrub/placement/check/check.hpp"
#include "layrub/placement/ir/uses.hpp"
#include "layrub/placement/policies/common.hpp"
#include "layrub/placement/policies/segments.hpp"
#include "layrub/placement/policies/tensor_cache.hpp"
#include "layrub/placement/schedule/schedule.hpp"
#include "layrub/placement/strategies/strategy.hpp"
#include "layrub/placement/test/hand_made.hpp"
#include "layrub/placement/test/strategy_kinds.hpp"
#include "layrub/placement/test/vdnn_net.hpp"

namespace layrub::placement::policies {
namespace {

using testing::BytesOffloaded;
using testing::HandMade;
using testing::Recomputed;
using testing::SmallestBudget;
using testing::Uses;
using testing::VdnnNet;
using Lines = std::vector<std::string>;

Plan MustSchedule(const Graph& graph, const Program& program) {
  const Result<Plan> plan = schedule::Schedule(graph, program);
  EXPECT_TRUE(plan.ok()) << plan.status().message;
  if (!plan.ok()) return {};
  EXPECT_EQ(Check(graph, plan.value()), Lines{});
  return plan.value();
}

Plan MustPlan(const Graph& graph, int64_t device) {
  const Result<Plan> plan = MakePlan(graph, {}, {.device = device}, "superneurons");
  EXPECT_TRUE(plan.ok()) << plan.status().message;
  if (!plan.ok()) return {};
  EXPECT_EQ(Check(graph, plan.value(), {.device = device}), Lines{});
  return plan.value();
}

/// `layers` convolutions y0 -> y1 -> ..., all of 4 units; each backward reads what its forward
/// reads. Operations: 0 data, 1 .. layers forward, layers + 1 the loss, then the backwards of the
/// convolutions, the last one first.
HandMade Convs(int layers) {
  HandMade net;
  const TensorId w = net.Add("w", 1, Role::kParameter);
  std::vector<TensorId> y, dy;
  for (int i = 0; i <= layers; ++i) y.push_back(net.Add("y" + std::to_string(i), 4));
  for (int i = 0; i <= layers; ++i)
    dy.push_back(net.Add("y" + std::to_string(i) + ".grad", 4, Role::kActivationGradient));
  net.Forward("data", Uses({}, {y[0]}));
  for (int i = 1; i <= layers; ++i)
    net.Forward("f" + std::to_string(i), Uses({y[i - 1], w}, {y[i]}));
  net.Backward("loss", Uses({y[layers]}, {dy[layers]}, {{dy[layers], y[layers]}}));
  for (int i = layers; i > 0; --i)
    net.Backward("b" + std::to_string(i), Uses({y[i - 1], w, dy[i]}, {dy[i - 1]}));
  for (Op& op : net.graph.ops) {
    if (op.name[0] == 'f' || op.name[0] == 'b') op.variants[0].flops = 1e6;
  }
  return net;
}

/// What the cache moves of Convs(6) on a device of w and `tensors` other tensors, as
/// "y0: after f1 release f3 prefetch b2 before b1".
Lines Moves(int64_t tensors, const Graph& graph) {
  Program program = DefaultProgram(graph);
  UseLists uses = FindUses(graph, program.runs);
  RunInPlace(graph, uses, InPlace::kSameRole, &program);
  const std::vector<bool> all(graph.tensors.size(), true);
  const TensorCache cache(graph, all, std::move(uses), std::move(program));
  program = cache.Within((1 + 4 * tensors) * kAlignment);
  MustSchedule(graph, program);
  Lines lines;
  const auto name = [&](RunId r) { return graph.ops[program.runs[r].op].name; };
  for (size_t t = 0; t < graph.tensors.size(); ++t) {
    for (const Eviction& eviction : program.tensors[t].evictions) {
      lines.push_back(graph.tensors[t].name + ": after " + name(eviction.after) + " release " +
                      name(eviction.release) + " prefetch " + name(eviction.prefetch) + " before " +
                      name(eviction.before));
    }
  }
  return lines;
}

TEST(Cache, MovesNothingIfEverythingFits) {
  // At loss: y0 .. y6 and the gradient of y6.
  EXPECT_EQ(Moves(8, Convs(6).graph), Lines{});
}

TEST(Cache, EvictsTheLeastRecentlyUsedTensor) {
  // f6 and the loss each need the bytes of one tensor, and the last uses of y0 and y1 are longest
  // ago. When the backward of a convolution frees enough, the operand of the one below it comes
  // back.
  EXPECT_EQ(Moves(6, Convs(6).graph), (Lines{"y0: after f1 release f5 prefetch b2 before b1",
                                             "y1: after f2 release f6 prefetch b3 before b2"}));
}

TEST(Cache, KeepsTensorsOnlyDuringTheirUsesWithoutCapacity) {
  const Lines moves = Moves(0, Convs(6).graph);
  EXPECT_EQ(moves[0], "y0: after f1 release f1 prefetch b1 before b1");
  EXPECT_EQ(moves[1], "y1: after f2 release f2 prefetch b2 before b2");
}

TEST(Cache, NeverEvictsTheOperandsOfARun) {
  // The last convolution also reads y0, so y1 is evicted for it. The loss reads y1, which takes the
  // bytes of two other tensors, not those of y0, which was just used.
  Graph graph = Convs(6).graph;
  graph.ops[6].variants[0].reads.push_back(1);
  graph.ops[7].variants[0].reads.push_back(2);
  EXPECT_EQ(Moves(6, graph), (Lines{"y1: after f2 release f5 prefetch loss before loss",
                                    "y2: after f3 release f6 prefetch b4 before b3",
                                    "y3: after f4 release f6 prefetch b5 before b4"}));
}

TEST(Cache, NeverEvictsWhatMayNotMove) {
  HandMade net = Convs(6);
  net.graph.tensors[1].keep = true;
  Program program = DefaultProgram(net.graph);
  std::vector<bool> movable(net.graph.tensors.size(), true);
  movable[2] = false;
  UseLists uses = FindUses(net.graph, program.runs);
  program = TensorCache(net.graph, movable, std::move(uses), std::move(program)).Within(0);
  EXPECT_TRUE(program.tensors[0].evictions.empty());
  EXPECT_TRUE(program.tensors[1].evictions.empty());
  EXPECT_TRUE(program.tensors[2].evictions.empty());
  EXPECT_FALSE(program.tensors[3].evictions.empty());
}

TEST(Checkpoints, AreConvLikeOrNotRepeatableForwards) {
  VdnnNet net;
  net.graph.ops[net.FindOp("norm/forward")].repeatable = false;
  const std::vector<bool> checkpoints = Checkpoints(net.graph, InSmallestVariants(net.graph).runs);
  for (size_t o = 0; o < net.graph.ops.size(); ++o) {
    const std::string& name = net.graph.ops[o].name;
    const bool forward = net.graph.ops[o].pass == Pass::kForward;
    EXPECT_EQ(checkpoints[o],
              forward && (name[0] == 'd' || name.substr(0, 4) == "conv" || name[0] == 'n'))
        << name;
  }
}

TEST(RecomputeSegments, DropsTensorsUsedWithinOneSegment) {
  const VdnnNet net;
  Program program = InSmallestVariants(net.graph);
  const std::vector<bool> dropped = RecomputeSegments(net.graph, &program).dropped;
  for (size_t t = 0; t < dropped.size(); ++t) {
    const std::string& name = net.graph.tensors[t].name;
    // r1 and sum are used beyond the next checkpoint; the last segment keeps everything.
    EXPECT_EQ(dropped[t], name == "n" || name == "p") << name;
  }
  Lines again;
  for (const placement::Run& run : program.runs) {
    if (run.recompute) again.push_back(net.graph.ops[run.op].name);
  }
  // n and p, beside the two gradients at conv3's backward, need more than any operation does.
  EXPECT_EQ(again, (Lines{"norm/forward", "pool/forward", "norm/forward"}));
  MustSchedule(net.graph, program);
}

/// A convolution followed by `cheap` cheap operations, then a convolution and a loss. All tensors
/// are 4 units. The backwards of the cheap operations read what their forwards read.
Graph LongSegment(int cheap, int64_t widest) {
  HandMade net;
  const TensorId w = net.Add("w", 1, Role::kParameter);
  const TensorId x = net.Add("x", 4), wide = net.Add("wide", widest);
  std::vector<TensorId> y{net.Add("y0", 4)}, dy{net.Add("y0.grad", 4, Role::kActivationGradient)};
  net.Forward("data", Uses({}, {x, wide}));
  net.Forward("conv1", Uses({x, w}, {y[0]}));
  for (int i = 1; i <= cheap; ++i) {
    y.push_back(net.Add("y" + std::to_string(i), 4));
    dy.push_back(net.Add("y" + std::to_string(i) + ".grad", 4, Role::kActivationGradient));
    net.Forward("f" + std::to_string(i), Uses({y[i - 1]}, {y[i]}));
  }
  const TensorId z = net.Add("z", 4);
  net.Forward("conv2", Uses({y.back(), w}, {z}));
  for (size_t o = 1; o < net.graph.ops.size(); ++o) net.graph.ops[o].repeatable = true;
  net.Backward("conv2/backward", Uses({y.back(), w, z}, {dy.back()}));
  for (int i = cheap; i > 0; --i)
    net.Backward("b" + std::to_string(i), Uses({y[i - 1], dy[i]}, {dy[i - 1]}));
  net.Backward("conv1/backward", Uses({x, dy[0], w}, {}));
  for (Op& op : net.graph.ops) {
    if (op.name.substr(0, 4) == "conv") op.variants[0].flops = 1e6;
  }
  return net.graph;
}

int TimesAgain(const Graph& graph) {
  Program program = InSmallestVariants(graph);
  RecomputeSegments(graph, &program);
  MustSchedule(graph, program);
  return static_cast<int>(std::count_if(program.runs.begin(), program.runs.end(),
                                        [](const placement::Run& run) { return run.recompute; }));
}

TEST(RecomputeSegments, IsSpeedCentricIfTheLargestOperationNeedsMore) {
  // Four tensors come back at once for conv2's backward, whose other operands are z and a gradient:
  // 6 * 4 units. Without a wide operation the largest has 3 * 4 units.
  EXPECT_EQ(TimesAgain(LongSegment(4, 6 * 4 - 4)), 4);
  EXPECT_EQ(TimesAgain(LongSegment(4, 6 * 4 - 5)), 4 + 3 + 2 + 1);
  EXPECT_EQ(TimesAgain(LongSegment(4, 1)), 4 + 3 + 2 + 1);
}

TEST(SuperNeurons, TakesTheNextStepAsTheBudgetShrinks) {
  const Graph graph = LongSegment(6, 1);
  const int64_t liveness = SmallestBudget(graph, "liveness");
  EXPECT_EQ(BytesOffloaded(graph, MustPlan(graph, liveness)), 0);
  EXPECT_EQ(Recomputed(MustPlan(graph, liveness)), 0);
  const Plan moved = MustPlan(graph, liveness - kAlignment);
  EXPECT_GT(BytesOffloaded(graph, moved), 0);
  EXPECT_EQ(Recomputed(moved), 0);
  const int64_t smallest = SmallestBudget(graph, "superneurons");
  EXPECT_LT(smallest, liveness - 4 * kAlignment);
  EXPECT_GT(Recomputed(MustPlan(graph, smallest)), 0);
  for (int64_t device = smallest; device <= liveness; device += kAlignment)
    EXPECT_LE(MustPlan(graph, device).device_bytes, device);
  EXPECT_EQ(MakePlan(graph, {}, {.device = smallest - 1}, "superneurons").status().code,
            Code::kDoesNotFit);
}

TEST(SuperNeurons, RespectsReservedBytes) {
  const Graph graph = LongSegment(6, 1);
  const int64_t smallest = SmallestBudget(graph, "superneurons");
  const int64_t reserved = 100 * kAlignment;
  EXPECT_TRUE(
      MakePlan(graph, {}, {.device = smallest + reserved, .reserved = reserved}, "superneurons")
          .ok());
  EXPECT_FALSE(
      MakePlan(graph, {}, {.device = smallest + reserved - 1, .reserved = reserved}, "superneurons")
          .ok());
}

TEST(SuperNeurons, GivesWorkspacesTheBytesLeft) {
  Graph graph = Convs(6).graph;
  Tensor fast;
  fast.name = "fast";
  fast.bytes = 8 * kAlignment;
  fast.role = Role::kWorkspace;
  graph.tensors.push_back(fast);
  const auto id = static_cast<TensorId>(graph.tensors.size()) - 1;
  graph.ops[3].variants[0].algorithms = {{kNone, 2, true}, {id, 1, true}};
  const auto algorithm = [&](int64_t units) {
    const Plan plan = MustPlan(graph, units * kAlignment);
    const auto step =
        std::find_if(plan.steps.begin(), plan.steps.end(), [](const Step& s) { return s.op == 3; });
    return step->algorithm;
  };
  EXPECT_EQ(algorithm(100), 1);
  // Three convolutions hold w and y0 .. y3: 17 units.
  EXPECT_EQ(algorithm(1 + 4 * 4 + 8), 1);
  EXPECT_EQ(algorithm(1 + 4 * 4 + 7), 0);
}

}  // namespace
}  // namespace layrub::placement::policies
