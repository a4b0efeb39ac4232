// The rules of vDNN: which tensors move, when they come back, and what the dynamic policy takes.
#include <gtest/gtest.h>

#include "layrub/placement/check/check.hpp"
#include "layrub/placement/cost/fastest_algorithms.hpp"
#include "layrub/placement/cost/timeline.hpp"
#include "layrub/placement/ir/uses.hpp"
#include "layrub/placement/policies/conv_like.hpp"
#include "layrub/placement/policies/vdnn.hpp"
#include "layrub/placement/strategies/strategies.hpp"
#include "layrub/placement/strategies/strategy.hpp"
#include "layrub/placement/test/hand_made.hpp"
#include "layrub/placement/test/strategy_kinds.hpp"
#include "layrub/placement/test/vdnn_net.hpp"

namespace layrub::placement::policies {
namespace {

using testing::BytesOffloaded;
using testing::HandMade;
using testing::SmallestBudget;
using testing::Uses;
using testing::VdnnNet;

ShortList<Eviction> EvictionsOf(const VdnnNet& net, const Program& program,
                                const std::string& name) {
  return program.tensors[net.Find(name)].evictions;
}

Plan MustPlan(const Graph& graph, const std::string& strategy, int64_t device) {
  const Result<Plan> plan = MakePlan(graph, {}, {.device = device}, strategy);
  EXPECT_TRUE(plan.ok()) << plan.status().message;
  if (!plan.ok()) return {};
  EXPECT_EQ(Check(graph, plan.value(), {.device = device}), std::vector<std::string>());
  return plan.value();
}

TEST(ConvLike, MeansWeightsAndMuchArithmeticForEachByte) {
  const VdnnNet net;
  for (const Op& op : net.graph.ops) {
    EXPECT_EQ(IsConvLike(net.graph, op), op.name.substr(0, 4) == "conv") << op.name;
  }
}

TEST(ConvLike, CountsNeitherWeightsNorArithmeticWithoutWeights) {
  HandMade net;
  const TensorId w = net.Add("w", 1000, Role::kParameter);
  const TensorId x = net.Add("x", 1), y = net.Add("y", 1);
  Variant variant = Uses({x, w}, {y});
  variant.flops = 2 * kAlignment + 1;
  net.Forward("inner_product/forward", variant);
  EXPECT_TRUE(IsConvLike(net.graph, net.graph.ops[0]));
  net.graph.ops[0].variants[0].flops = 2 * kAlignment;
  EXPECT_FALSE(IsConvLike(net.graph, net.graph.ops[0]));
  net.graph.ops[0].variants[0].flops = 1e9;
  net.graph.ops[0].variants[0].reads = {x};
  EXPECT_FALSE(IsConvLike(net.graph, net.graph.ops[0]));
  net.graph.ops[0].variants[0].writes = {w};  // accumulates a gradient
  EXPECT_TRUE(IsConvLike(net.graph, net.graph.ops[0]));
  net.graph.ops[0].kind = OpKind::kFill;
  EXPECT_FALSE(IsConvLike(net.graph, net.graph.ops[0]));
}

TEST(OffloadInputs, MovesInputsAfterTheirLastConsumerAndFreesThemAtOnce) {
  const VdnnNet net;
  const Program all = OffloadInputs(net.graph, Offload::kAll);
  const Program conv = OffloadInputs(net.graph, Offload::kConv);
  for (const Program* program : {&all, &conv}) {
    // Conv2 and the norm read r1, so it is offloaded after the norm, the later one.
    ASSERT_EQ(EvictionsOf(net, *program, "r1").size(), 1u);
    EXPECT_EQ(EvictionsOf(net, *program, "r1")[0].after, net.FindOp("norm/forward"));
    EXPECT_EQ(EvictionsOf(net, *program, "r1")[0].release, net.FindOp("norm/forward"));
    ASSERT_EQ(EvictionsOf(net, *program, "x").size(), 1u);
    // Nobody reads it in the backward pass; inputs of in-place layers never move.
    EXPECT_TRUE(EvictionsOf(net, *program, "sum").empty());
    EXPECT_TRUE(EvictionsOf(net, *program, "c1").empty());
  }
  // Only the pool reads n.
  EXPECT_EQ(EvictionsOf(net, all, "n").size(), 1u);
  EXPECT_TRUE(EvictionsOf(net, conv, "n").empty());
}

TEST(OffloadInputs, LeavesInPlaceInputsAndEmptyEvictionsAlone) {
  const VdnnNet net;
  const Program all = OffloadInputs(net.graph, Offload::kAll);
  EXPECT_TRUE(
      EvictionsOf(net, all, "c1").empty());  // relu1 runs in place on it, and its backward reads it
  EXPECT_TRUE(
      EvictionsOf(net, all, "c3").empty());  // the loss's input: needed by the first backward
  for (const TensorProgram& tensor : OffloadInputs(net.graph, Offload::kNothing).tensors) {
    EXPECT_TRUE(tensor.evictions.empty());
  }
}

TEST(OffloadInputs, FetchesForTheNextLayerBelowUpToTheNextConvolution) {
  const VdnnNet net;
  const auto fetch = [&](Offload which, const std::string& name) {
    const Program program = OffloadInputs(net.graph, which);
    const ShortList<Eviction> evictions = EvictionsOf(net, program, name);
    return evictions.empty() ? std::string("stays") : net.graph.ops[evictions[0].prefetch].name;
  };
  // All: loss/backward claims p for conv3, the first one below that lacks its input. Conv3 then
  // claims n for the pool, the pool r1 for the norm, and the norm, conv2 having its input, nothing:
  // that convolution ends its search. Conv2 claims x for conv1.
  EXPECT_EQ(fetch(Offload::kAll, "p"), "loss/backward");
  EXPECT_EQ(fetch(Offload::kAll, "n"), "conv3/backward");
  EXPECT_EQ(fetch(Offload::kAll, "r1"), "pool/backward");
  EXPECT_EQ(fetch(Offload::kAll, "x"), "conv2/backward");
  EXPECT_EQ(fetch(Offload::kConv, "r1"), "conv3/backward");
  EXPECT_EQ(fetch(Offload::kConv, "x"), "conv2/backward");
}

TEST(OffloadInputs, NeedsFewerBytesAndMoreTimeWithEachStep) {
  const Graph graph = VdnnNet().graph;
  const Machine machine{.link_down = 1e6, .link_up = 1e6, .link_both = 2e6};
  int64_t bytes = cost::kNoLimit;
  double seconds = 0;
  for (const std::string strategy : {"keep", "liveness", "vdnn_conv", "vdnn_all"}) {
    const Plan plan = MustPlan(graph, strategy, cost::kNoLimit);
    EXPECT_LE(plan.device_bytes, bytes) << strategy;
    bytes = plan.device_bytes;
    const double taken = Simulate(graph, plan, machine).seconds;
    EXPECT_GE(taken, seconds) << strategy;
    seconds = taken;
  }
  EXPECT_LT(bytes, SmallestBudget(graph, "liveness"));
}

TEST(TakeFastestAlgorithms, TakesTheFastestDeterministicOneThatFits) {
  HandMade net;
  const TensorId x = net.Add("x", 4), y = net.Add("y", 4);
  const TensorId small = net.Add("small", 2, Role::kWorkspace);
  const TensorId large = net.Add("large", 8, Role::kWorkspace);
  net.Forward("x/forward", Uses({}, {x}));
  net.Forward("y/forward", Uses({x}, {y}));
  std::vector<Algorithm>& algorithms = net.graph.ops[1].variants[0].algorithms;
  algorithms = {{kNone, 4, true}, {small, 3, true}, {large, 1, true}, {small, 0.5, false}};
  const auto taken = [&](int64_t units) {
    Program program = DefaultProgram(net.graph);
    cost::TakeFastestAlgorithms(
        net.graph, {}, units == cost::kNoLimit ? cost::kNoLimit : units * kAlignment, &program);
    return program.runs[1].algorithm;
  };
  EXPECT_EQ(taken(7), 0);
  EXPECT_EQ(taken(8), 0);
  EXPECT_EQ(taken(10), 1);
  EXPECT_EQ(taken(15), 1);
  EXPECT_EQ(taken(16), 2);
  EXPECT_EQ(taken(cost::kNoLimit), 2);
  for (Algorithm& algorithm : algorithms) algorithm.seconds = 0;  // unknown
  EXPECT_EQ(taken(cost::kNoLimit), 0);
}

/// VdnnNet with a choice of three workspaces for each convolution: none, a faster one that needs
/// more than any other operation does, and the fastest, whose results vary.
VdnnNet ConvChoices() {
  VdnnNet net;
  for (Op& op : net.graph.ops) {
    if (!IsConvLike(net.graph, op)) continue;
    const TensorId large = net.Add(op.name + ":large", 90, Role::kWorkspace);
    const TensorId wild = net.Add(op.name + ":wild", 20, Role::kWorkspace);
    op.variants[0].algorithms = {{kNone, 2, true}, {large, 1, true}, {wild, 0.5, false}};
  }
  return net;
}

TEST(VdnnFast, MovesTheSameWithTheFastestDeterministicAlgorithms) {
  const Graph graph = ConvChoices().graph;
  for (const std::string sister : {"vdnn_conv", "vdnn_all"}) {
    const Program smallest =
        strategies::FindStrategy(sister).value()(graph, {}, {}).value().program;
    // Whatever the budget is.
    const Program fast = strategies::FindStrategy(sister + "_fast")
                             .value()(graph, {}, {.device = 1})
                             .value()
                             .program;
    ASSERT_EQ(fast.runs.size(), smallest.runs.size());
    for (size_t r = 0; r < fast.runs.size(); ++r) {
      placement::Run expected = smallest.runs[r];
      EXPECT_EQ(expected.algorithm, 0);
      expected.algorithm = IsConvLike(graph, graph.ops[r]) ? 1 : 0;
      EXPECT_EQ(fast.runs[r], expected) << sister << " " << graph.ops[r].name;
    }
    for (size_t t = 0; t < graph.tensors.size(); ++t) {
      EXPECT_EQ(fast.tensors[t].evictions, smallest.tensors[t].evictions) << graph.tensors[t].name;
    }
  }
}

TEST(VdnnFast, IsFasterForMoreBytesIfThereIsAChoice) {
  const Graph with_choices = ConvChoices().graph, without = VdnnNet().graph;
  for (const double link : {1e3, 1e6, 1e12}) {
    const Machine machine{.link_down = link, .link_up = link, .link_both = 2 * link};
    for (const std::string sister : {"vdnn_conv", "vdnn_all"}) {
      const Plan smallest = MustPlan(with_choices, sister, cost::kNoLimit);
      Plan fast = MustPlan(with_choices, sister + "_fast", cost::kNoLimit);
      EXPECT_GT(fast.device_bytes, smallest.device_bytes) << sister;
      EXPECT_LT(Simulate(with_choices, fast, machine).seconds,
                Simulate(with_choices, smallest, machine).seconds)
          << sister << " " << link;
      fast = MustPlan(without, sister + "_fast", cost::kNoLimit);
      fast.strategy = sister;
      EXPECT_EQ(fast, MustPlan(without, sister, cost::kNoLimit));
    }
  }
}

TEST(VdnnDyn, TriesItsPoliciesInOrderAsTheBudgetShrinks) {
  VdnnNet net;
  const TensorId fast = net.Add("conv2:fast", 30, Role::kWorkspace);
  net.graph.ops[net.FindOp("conv2/forward")].variants[0].algorithms = {{kNone, 2, true},
                                                                       {fast, 1, true}};
  const auto algorithm = [&](const Plan& plan) {
    for (const Step& step : plan.steps) {
      if (step.op == net.FindOp("conv2/forward")) return step.algorithm;
    }
    return kNone;
  };
  const Plan free = MustPlan(net.graph, "vdnn_dyn", cost::kNoLimit);
  EXPECT_EQ(BytesOffloaded(net.graph, free), 0);
  EXPECT_EQ(algorithm(free), 1);

  const int64_t conv = SmallestBudget(net.graph, "vdnn_conv");
  const int64_t all = SmallestBudget(net.graph, "vdnn_all");
  const int64_t smallest = SmallestBudget(net.graph, "vdnn_dyn");
  EXPECT_EQ(smallest, std::min(conv, all));
  const Plan downgraded = MustPlan(net.graph, "vdnn_dyn", conv);
  EXPECT_EQ(algorithm(downgraded), 0);
  EXPECT_EQ(BytesOffloaded(net.graph, downgraded),
            BytesOffloaded(net.graph, MustPlan(net.graph, "vdnn_conv", conv)));
  MustPlan(net.graph, "vdnn_dyn", smallest);
  EXPECT_EQ(MakePlan(net.graph, {}, {.device = smallest - 1}, "vdnn_dyn").status().code,
            Code::kDoesNotFit);
}

}  // namespace
}  // namespace layrub::placement::policies
