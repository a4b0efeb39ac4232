// The choice among algorithms of an operation: the default without a budget, --deterministic, and
// faster algorithms that cost no bytes.
#include "layrub/base/algorithm_cost.hpp"
#include "layrub/placement/strategies/strategy.hpp"

#include <gtest/gtest.h>

#include "layrub/placement/cost/algorithm_choices.hpp"
#include "layrub/placement/cost/fastest_algorithms.hpp"
#include "layrub/placement/cost/timeline.hpp"
#include "layrub/placement/ir/uses.hpp"
#include "layrub/placement/test/hand_made.hpp"

namespace layrub::placement {
namespace {

using testing::HandMade;
using testing::Uses;

TEST(DefaultAlgorithm, IsTheFastestReproducibleOneWithinTheCap) {
  EXPECT_EQ(DefaultAlgorithm({}), -1);
  EXPECT_EQ(DefaultAlgorithm({{5, 1, false}}), -1);
  EXPECT_EQ(DefaultAlgorithm({{0, 3}, {5, 2}, {9, 1}}), 2);
  EXPECT_EQ(DefaultAlgorithm({{0, 3}, {5, 2}, {9, 1, false}}), 1);
  EXPECT_EQ(DefaultAlgorithm({{0, 3}, {kWorkspaceCap, 2}, {kWorkspaceCap + 1, 1}}), 1);
  EXPECT_EQ(DefaultAlgorithm({{9, 2}, {5, 2}}), 1);
}

TEST(DefaultAlgorithm, IsTheSmallestIfNoSpeedIsKnownOrAllAreTooLarge) {
  EXPECT_EQ(DefaultAlgorithm({{9, 0}, {5, 0}}), 1);
  EXPECT_EQ(DefaultAlgorithm({{9, 7}, {5, 0}}), 0);
  EXPECT_EQ(DefaultAlgorithm({{kWorkspaceCap + 9, 1}, {kWorkspaceCap + 5, 2}}), 1);
}

/// data -> conv, which can run without workspace in 4 seconds, with 3 units in 2, or with 9 in 1.
class ConvChoices : public ::testing::Test {
 protected:
  ConvChoices() {
    const TensorId x = net_.Add("x", 8), y = net_.Add("y", 2), z = net_.Add("z", 1);
    const TensorId some = net_.Add("some", 3, Role::kWorkspace);
    much_ = net_.Add("much", 9, Role::kWorkspace);
    other_ = net_.Add("other", 5, Role::kWorkspace);
    net_.Forward("x/forward", Uses({}, {x}));
    net_.Forward("conv/forward", Uses({x}, {y}));
    net_.Forward("last/forward", Uses({y}, {z}));
    Choices(1) = {{kNone, 4, true, "none"}, {some, 2, true, "some"}, {much_, 1, true, "much"}};
    Choices(2) = {{other_, 1, true, {}}};
  }
  std::vector<Algorithm>& Choices(OpId op) { return net_.graph.ops[op].variants[0].algorithms; }
  Result<Plan> PlanOf(const std::string& strategy, int64_t budget = cost::kNoLimit) {
    return MakePlan(net_.graph, {}, {.device = budget}, strategy);
  }
  int32_t Chosen(const Plan& plan) {
    for (const Step& step : plan.steps) {
      if (step.op == 1) return step.algorithm;
    }
    return kNone;
  }

  HandMade net_;
  TensorId much_ = kNone, other_ = kNone;
};

TEST_F(ConvChoices, TakeAFasterAlgorithmIfThePlanDoesNotGrow) {
  // x and y are 10 units, at the fullest moment; y, z and a larger `other` are 13.
  const Plan smallest = PlanOf("liveness").value();
  EXPECT_EQ(Chosen(smallest), 0);
  EXPECT_EQ(smallest.device_bytes, 10 * kAlignment);
  net_.graph.tensors[other_].bytes = 10 * kAlignment;
  const Plan plan = PlanOf("liveness").value();
  EXPECT_EQ(plan.device_bytes, 13 * kAlignment);
  EXPECT_EQ(Chosen(plan), 1);
}

TEST_F(ConvChoices, AreLimitedByTheCapUnderKeep) {
  EXPECT_EQ(Chosen(PlanOf("keep").value()), 2);
  net_.graph.tensors[much_].bytes = kWorkspaceCap + 1;
  EXPECT_EQ(Chosen(PlanOf("keep").value()), 1);
}

TEST_F(ConvChoices, AreTheFastestThatFitTheBudgetUnderAuto) {
  const int64_t needed = 8 + 2 + 1;
  for (const auto& [more, chosen] : {std::pair(9, 2), std::pair(7, 1), std::pair(1, 0)}) {
    const Result<Plan> plan = PlanOf("auto", (needed + more) * kAlignment);
    ASSERT_TRUE(plan.ok()) << plan.status().message;
    EXPECT_EQ(Chosen(plan.value()), chosen) << more;
  }
}

TEST_F(ConvChoices, AreReducedToOneByKeepDeterministic) {
  net_.graph.tensors[much_].bytes = kWorkspaceCap + 1;
  Graph pinned = net_.graph;
  ASSERT_TRUE(KeepDeterministic(&pinned).ok());
  EXPECT_EQ(AlgorithmChoices(pinned), 1);
  EXPECT_EQ(pinned.ops[1].variants[0].algorithms.front().name, "some");
  Choices(1)[1].deterministic = false;
  pinned = net_.graph;
  ASSERT_TRUE(KeepDeterministic(&pinned).ok());
  EXPECT_EQ(pinned.ops[1].variants[0].algorithms.front().name, "none");
}

TEST_F(ConvChoices, AreReducedToTheGivenOneByKeepAlgorithm) {
  EXPECT_EQ(AlgorithmChoices(net_.graph), 3);
  for (int choice = 0; choice < 4; ++choice) {
    Graph graph = net_.graph;
    KeepAlgorithm(choice, &graph);
    EXPECT_EQ(graph.ops[0].variants[0].algorithms.size(), 0u);
    EXPECT_EQ(graph.ops[1].variants[0].algorithms,
              std::vector<Algorithm>{Choices(1)[std::min(choice, 2)]});
    EXPECT_EQ(graph.ops[2].variants[0].algorithms, Choices(2));
  }
}

TEST_F(ConvChoices, ScaleEstimatesByAMeasuredAlgorithm) {
  Machine machine;
  Op& op = net_.graph.ops[1];
  op.variants[0].name = "x";
  op.variants[0].bytes_moved = 7;
  EXPECT_DOUBLE_EQ(OpSeconds(op, 0, 1, machine), 2);
  machine.measured["conv/forward"]["x/some"] = {7, 3};
  EXPECT_DOUBLE_EQ(OpSeconds(op, 0, 0, machine), 6);
  EXPECT_DOUBLE_EQ(OpSeconds(op, 0, 1, machine), 3);
  EXPECT_DOUBLE_EQ(OpSeconds(op, 0, 2, machine), 1.5);
  machine.measured["conv/forward"]["x/much"] = {7, 5};
  EXPECT_DOUBLE_EQ(OpSeconds(op, 0, 2, machine), 5);
  Program program = DefaultProgram(net_.graph);
  cost::TakeFastestAlgorithms(net_.graph, machine, cost::kNoLimit, &program);
  EXPECT_EQ(program.runs[1].algorithm, 1);
}

}  // namespace
}  // namespace layrub::placement
