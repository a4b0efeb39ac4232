// What a plan does to each layer, in bytes and in time.
#include <gtest/gtest.h>

#include "hand_made.hpp"
#include "layrub/placement/cost/layer_costs.hpp"
#include "layrub/placement/ir/program.hpp"
#include "layrub/placement/strategies/strategy.hpp"

namespace layrub::testing {

using namespace placement;  // NOLINT(google-build-using-namespace): tests look inside
namespace {

/// One second for each operation, and for each unit of a copy.
Machine Slow() {
  Machine machine;
  machine.flops = 1;
  machine.memory_bandwidth = 1;
  machine.link_down = machine.link_up = kAlignment;
  machine.link_both = 2 * kAlignment;
  machine.latency = 0;
  return machine;
}

struct Costs {
  Plan plan;
  Timeline timeline;
  std::vector<LayerCost> layers;
  LayerCost total;
};

Costs CostsOf(Graph graph, const std::string& strategy) {
  for (Op& op : graph.ops) {
    op.repeatable = op.pass == Pass::kForward && op.name != "data/forward";
    for (Variant& variant : op.variants) variant.flops = 1;
  }
  Costs costs;
  costs.plan = MakePlan(graph, Slow(), {}, strategy).value();
  costs.timeline = Simulate(graph, costs.plan, Slow());
  costs.layers = LayerCosts(graph, costs.plan, costs.timeline);
  for (const LayerCost& layer : costs.layers) costs.total += layer;
  return costs;
}

TEST(LayerOf, StripsThePassTheSliceAndTheParameterNumber) {
  const auto layer = [](const std::string& name, OpKind kind) {
    return LayerOf({name, Pass::kForward, kind, false, {}});
  };
  EXPECT_EQ(layer("conv1/forward", OpKind::kCompute), "conv1");
  EXPECT_EQ(layer("conv1[0]/update", OpKind::kUpdate), "conv1");
  EXPECT_EQ(layer("conv[1]/backward", OpKind::kCompute), "conv[1]");
  EXPECT_EQ(layer("conv[1][12]/update", OpKind::kUpdate), "conv[1]");
  EXPECT_EQ(layer("block/conv1/forward", OpKind::kCompute), "block/conv1");
  EXPECT_EQ(layer("conv/5x5/12of16/backward", OpKind::kCompute), "conv/5x5");
  EXPECT_EQ(layer("sum/1of8+relu/1of8/forward", OpKind::kCompute), "sum+relu");
  EXPECT_EQ(layer("conv1/cut_into_8/forward", OpKind::kCompute), "conv1");
  EXPECT_EQ(layer("conv1/join_of_8/forward", OpKind::kCompute), "conv1");
  EXPECT_EQ(layer("block/join/forward", OpKind::kCompute), "block/join");
  EXPECT_EQ(layer("of/1of8x/forward", OpKind::kCompute), "of/1of8x");
  EXPECT_EQ(layer("alone", OpKind::kUpdate), "alone");
}

TEST(LayerCosts, CountTheBytesThatKeepKeeps) {
  const Costs costs = CostsOf(Chain().graph, "keep");
  ASSERT_EQ(costs.layers.size(), 4u);
  const std::vector<std::string> names = {"data", "a", "b", "c"};
  for (size_t i = 0; i < names.size(); ++i) {
    EXPECT_EQ(costs.layers[i].layer, names[i]);
    EXPECT_GE(costs.layers[i].kept, 4 * kAlignment);
  }
  EXPECT_EQ(costs.total.bytes(), costs.total.kept);
  EXPECT_EQ(costs.total.added(), 0);
}

TEST(LayerCosts, CountTheCopiesAndStallsOfHybrid) {
  const Graph graph = Chain().graph;
  const Costs costs = CostsOf(graph, "hybrid");
  EXPECT_GT(costs.total.offloaded, 0);
  EXPECT_EQ(costs.total.traffic, 2 * costs.total.offloaded);
  EXPECT_EQ(costs.total.recomputed, 0);
  EXPECT_GT(costs.timeline.stalled, 0);
  EXPECT_NEAR(costs.total.exposed, costs.timeline.stalled, 1e-9);
  EXPECT_NEAR(costs.total.copying, static_cast<double>(costs.total.traffic) / kAlignment, 1e-9);
  // x is evicted from a/forward to a/backward; the gradients lie on tensors that are no longer
  // needed.
  EXPECT_EQ(costs.layers[0].offloaded, 4 * kAlignment);
  EXPECT_EQ(costs.layers[0].kept, 0);
  EXPECT_GT(costs.total.aliased, 0);
}

TEST(LayerCosts, CountTheCopiesOfASource) {
  Graph graph = Chain().graph;
  graph.ops[0].kind = OpKind::kFeed;
  const Costs costs = CostsOf(graph, "liveness");
  EXPECT_EQ(costs.layers[0].layer, "data");
  EXPECT_EQ(costs.layers[0].traffic, 4 * kAlignment);
  EXPECT_EQ(costs.total.traffic, costs.layers[0].traffic);
  EXPECT_EQ(costs.total.offloaded, 0);
  EXPECT_NEAR(costs.layers[0].copying, 4, 1e-9);
  EXPECT_NEAR(costs.layers[0].exposed, 4, 1e-9);
}

TEST(LayerCosts, CountTheRecomputationsOfSqrt) {
  HandMade net;
  TensorId bottom = net.Add("x", 4);
  net.Forward("data/forward", Uses({}, {bottom}));
  std::vector<TensorId> data = {bottom};
  for (int i = 0; i < 9; ++i) {
    const std::string name = "l" + std::to_string(i);
    data.push_back(net.Add(name, 4));
    net.Forward(name + "/forward", Uses({data[i]}, {data[i + 1]}));
  }
  TensorId grad = net.Add("l8.grad", 4, Role::kActivationGradient);
  net.Backward("l8/backward", Uses({data[9]}, {grad}));
  for (int i = 7; i >= 0; --i) {
    const std::string name = "l" + std::to_string(i);
    const TensorId next = net.Add(name + ".grad", 4, Role::kActivationGradient);
    net.Backward(name + "/backward", Uses({data[i + 1], grad}, {next}));
    grad = next;
  }
  const Costs costs = CostsOf(net.graph, "sqrt");
  int64_t again = 0;
  for (const Step& step : costs.plan.steps) again += step.recompute;
  EXPECT_GT(again, 0);
  EXPECT_NEAR(costs.total.again, static_cast<double>(again), 1e-9);  // a second each
  EXPECT_EQ(costs.total.recomputed, again * 4 * kAlignment);
  EXPECT_EQ(costs.total.traffic, 0);
  EXPECT_EQ(costs.total.added(), costs.total.again);
}

}  // namespace
}  // namespace layrub::testing
