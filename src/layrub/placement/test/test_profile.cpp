#include <gtest/gtest.h>

#include "layrub/placement/cost/profile.hpp"
#include "layrub/placement/ir/uses.hpp"
#include "layrub/placement/schedule/schedule.hpp"
#include "layrub/placement/strategies/strategy.hpp"
#include "layrub/placement/test/hand_made.hpp"

namespace layrub::placement {
namespace {

using testing::Chain;

Machine Unit() { return {"unit", 1, 1, 1, 1, 2, 0}; }

/// A chain of operations that take 2000 seconds each. The input of the second is evicted, so two
/// copies of 1024 seconds run beside operations.
class Profile : public ::testing::Test {
 protected:
  void SetUp() override {
    graph_ = Chain().graph;
    for (Op& op : graph_.ops) {
      for (Variant& variant : op.variants) variant.flops = 2000;
    }
    Program program = DefaultProgram(graph_);
    program.tensors[1].evictions = {{1, 2, 5, 6}};
    const Result<Plan> plan = schedule::Schedule(graph_, program);
    ASSERT_TRUE(plan.ok()) << plan.status().message;
    plan_ = plan.value();
  }

  Timeline On(const Machine& machine) const { return Simulate(graph_, plan_, machine); }

  Graph graph_;
  Plan plan_;
};

TEST_F(Profile, TakesTheMedianOfEachOperation) {
  Machine slow = Unit(), fast = Unit(), slowest = Unit();
  slow.flops = 0.5;
  slowest.flops = 0.001;
  Machine learnt = Unit();
  EXPECT_EQ(MeasuredOperations(graph_, learnt), 0);
  LearnOperations(graph_, plan_, {On(fast), On(slowest), On(slow)}, &learnt);
  EXPECT_EQ(MeasuredOperations(graph_, learnt), static_cast<int>(graph_.ops.size()));
  for (const Op& op : graph_.ops) EXPECT_NEAR(OpSeconds(op, 0, 0, learnt), 4000, 1e-6) << op.name;
}

TEST_F(Profile, AFeedIsACopyAndNoOperationToMeasure) {
  graph_.ops[0].kind = OpKind::kFeed;
  plan_ = MakePlan(graph_, Unit(), {}, "hybrid").value();
  Machine learnt = Unit();
  LearnOperations(graph_, plan_, {On(learnt)}, &learnt);
  EXPECT_EQ(learnt.measured.count(graph_.ops[0].name), 0u);
  EXPECT_EQ(MeasuredOperations(graph_, learnt), static_cast<int>(graph_.ops.size()));
}

TEST_F(Profile, OperationsOfAnotherBatchDoNotCountAsMeasured) {
  Machine learnt = Unit();
  LearnOperations(graph_, plan_, {On(learnt)}, &learnt);
  Graph twice = graph_;
  for (size_t i = 1; i < twice.ops.size(); ++i) twice.ops[i].variants[0].bytes_moved += 1;
  EXPECT_EQ(MeasuredOperations(twice, learnt), 1);
}

TEST_F(Profile, MeasuresHowCopiesAndOperationsSlowEachOther) {
  Machine truth = Unit();
  truth.compute_while_copying = 0.5;
  truth.copy_while_computing = 0.8;
  Machine learnt = Unit();
  LearnInterference(graph_, plan_, {On(truth), On(truth)}, &learnt);
  EXPECT_NEAR(learnt.compute_while_copying, 0.5, 1e-6);
  EXPECT_NEAR(learnt.copy_while_computing, 0.8, 1e-6);
}

TEST_F(Profile, SubtractsTheSlowdownByCopies) {
  Machine truth = Unit();
  truth.compute_while_copying = 0.5;
  Machine learnt = truth;
  learnt.flops = 1e6;
  LearnOperations(graph_, plan_, {On(truth)}, &learnt);
  for (const Op& op : graph_.ops) EXPECT_NEAR(OpSeconds(op, 0, 0, learnt), 2000, 1e-6) << op.name;
}

TEST_F(Profile, LearnsNoSlowdownFromIterationsWithoutCopies) {
  const Result<Plan> plan = schedule::Schedule(graph_, DefaultProgram(graph_));
  ASSERT_TRUE(plan.ok());
  Machine learnt = Unit();
  learnt.compute_while_copying = 0.7;
  LearnInterference(graph_, plan.value(), {Simulate(graph_, plan.value(), Unit())}, &learnt);
  EXPECT_EQ(learnt.compute_while_copying, 0.7);
  EXPECT_EQ(learnt.copy_while_computing, 1);
}

}  // namespace
}  // namespace layrub::placement
