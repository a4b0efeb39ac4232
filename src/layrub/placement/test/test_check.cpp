#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <tuple>
#include <utility>
#include <vector>

#include "layrub/placement/check/check.hpp"
#include "layrub/placement/test/mutate.hpp"
#include "layrub/placement/test/plan_writer.hpp"
#include "layrub/placement/test/small_plan.hpp"

namespace layrub::placement {
namespace {

using testing::CheckPlan;
using testing::GraphWriter;
using testing::Join;
using testing::Objects;
using testing::PlanWriter;
using testing::mutate::Moved;
using testing::mutate::Without;

TEST_F(CheckPlan, AcceptsACorrectPlan) {
  ASSERT_TRUE(Validate(graph_).ok()) << Validate(graph_).message;
  EXPECT_EQ(Join(Check(graph_, plan_)), "");
  EXPECT_EQ(Join(Check(graph_, plan_, {2048, 512})), "");
}

TEST_F(CheckPlan, AcceptsAnEmptyPlanOfAnEmptyGraph) { EXPECT_EQ(Join(Check({}, {})), ""); }

TEST_F(CheckPlan, ObjectsToAUseAfterTheFree) {
  EXPECT_TRUE(Objects(graph_, Moved(plan_, at_.free_a, at_.relu),
                      "(compute relu): reads a, which has no device range"));
  EXPECT_TRUE(Objects(graph_, Moved(plan_, at_.free_x, at_.offload), "(offload x): reads x"));
  EXPECT_TRUE(Objects(graph_, Moved(plan_, at_.free_host_x, at_.prefetch),
                      "(prefetch x): reads x, which has no host range"));
}

TEST_F(CheckPlan, ObjectsToMissingRanges) {
  EXPECT_TRUE(Objects(graph_, Without(plan_, at_.alloc_a), "writes a, which has no device range"));
  EXPECT_TRUE(
      Objects(graph_, Without(plan_, at_.alloc_workspace), "needs the workspace conv:workspace"));
  EXPECT_TRUE(Objects(graph_, Without(plan_, at_.alloc_host_x), "no host range to copy to"));
  EXPECT_TRUE(Objects(graph_, Without(plan_, at_.alias_b), "writes b, which has no device range"));
}

TEST_F(CheckPlan, ObjectsToLeaks) {
  EXPECT_TRUE(Objects(graph_, Without(plan_, at_.free_da), "a.grad still has a device range"));
  EXPECT_TRUE(Objects(graph_, Without(plan_, at_.free_host_x), "x still has a host range"));
  EXPECT_TRUE(Objects(graph_, Without(plan_, at_.free_a), "a still has a device range"));
}

TEST_F(CheckPlan, ObjectsToAnAliasThatTheVariantDoesNotAllow) {
  Graph strict = graph_;
  strict.ops[2].variants[0].may_alias.clear();
  EXPECT_TRUE(Objects(strict, plan_, "(compute relu): writes b on the bytes of a"));
}

TEST_F(CheckPlan, ObjectsToAnAliasOverAValueThatIsReadLater) {
  Graph graph = graph_;
  graph.ops[3].variants[0].reads = {2 + 2, 2 + 3};  // the loss reads a as well
  Plan plan = Moved(plan_, at_.free_a, at_.free_a + 3);
  EXPECT_TRUE(Objects(graph, plan, "(compute loss): reads a, whose device range holds b"));
}

TEST_F(CheckPlan, ObjectsToAnAliasOnASmallerRange) {
  Graph graph = graph_;
  graph.tensors[5].bytes = 513;
  EXPECT_TRUE(Objects(graph, plan_, "needs 513 bytes, the range of a has 512"));
}

TEST_F(CheckPlan, ObjectsToAnAliasOnATensorWithoutRangeOrTwice) {
  const auto on_mask = [&](Step& step) { step.on = 6; };
  EXPECT_TRUE(Objects(graph_, With(at_.alias_b, on_mask), "is put on mask, which has no device"));
  const auto twice = [&](Step& step) { step.tensor = 3; };
  EXPECT_TRUE(Objects(graph_, With(at_.alias_b, twice), "x has a device range already"));
}

TEST_F(CheckPlan, ObjectsToACopyThroughAnAlias) {
  Plan plan = plan_;
  plan.steps[at_.wait_bytes - 1] = {.kind = StepKind::kAlias, .tensor = 3, .on = 9};
  EXPECT_TRUE(Objects(graph_, plan, "copies over a.grad, on which only an operation may write"));
}

TEST_F(CheckPlan, ObjectsToTwoOutputsOnTheSameBytes) {
  GraphWriter net;
  const TensorId x = net.Add("x", 1, Role::kActivation), y = net.Add("y", 1, Role::kActivation);
  const TensorId z = net.Add("z", 1, Role::kActivation);
  net.Add("make", Pass::kForward, OpKind::kCompute, {}, {x});
  net.Add("both", Pass::kForward, OpKind::kCompute, {x}, {y, z}, {{y, x}, {z, x}});
  PlanWriter p(net.graph, 256, 0);
  p.Alloc("x", 0);
  p.Run("make");
  p.Alias("y", "x");
  p.Alias("z", "x");
  p.Run("both");
  for (const char* name : {"x", "y", "z"}) p.Free(name);
  p.EndPass(Pass::kForward);
  EXPECT_TRUE(Objects(net.graph, p.plan, "writes z and y on the same bytes"));
}

TEST_F(CheckPlan, ObjectsToRangesThatOverlapOrAreMisalignedOrOutsideTheArena) {
  const auto move_to = [this](int64_t offset) {
    return With(at_.alloc_a, [=](Step& step) { step.offset = offset; });
  };
  EXPECT_TRUE(Objects(graph_, move_to(1024), "overlaps the live device range of x"));
  EXPECT_TRUE(Objects(graph_, move_to(1281), "offset 1281 is not aligned"));
  EXPECT_TRUE(Objects(graph_, move_to(1792), "is not inside the device arena of 2048 bytes"));
  EXPECT_TRUE(Objects(graph_, move_to(-256), "is not inside the device arena"));
  EXPECT_TRUE(Objects(graph_, move_to(INT64_MAX), "is not inside the device arena"));
}

TEST_F(CheckPlan, ObjectsToArenasOverTheBudget) {
  EXPECT_TRUE(
      Objects(graph_, plan_, "the device arena takes 2048 bytes, the budget is 2047", {2047, 512}));
  EXPECT_TRUE(
      Objects(graph_, plan_, "the host arena takes 512 bytes, the budget is 511", {2048, 511}));
}

TEST_F(CheckPlan, ObjectsToOperationsThatAreMissingOrRunTwiceOrOutOfOrder) {
  EXPECT_TRUE(Objects(graph_, Without(plan_, at_.conv), "operation conv never runs"));
  EXPECT_TRUE(Objects(graph_, Without(plan_, at_.conv), "it is the turn of conv"));
  EXPECT_TRUE(Objects(graph_, Without(plan_, at_.update), "operation w/update never runs"));
  Plan twice = plan_;
  twice.steps.insert(twice.steps.begin() + at_.conv, twice.steps[at_.conv]);
  EXPECT_TRUE(Objects(graph_, twice, "runs a second time"));
  EXPECT_TRUE(
      Objects(graph_, Moved(plan_, at_.relu, at_.conv), "(compute relu): runs out of order"));
}

TEST_F(CheckPlan, ObjectsToUnknownVariantsAlgorithmsAndOperations) {
  const auto change = [this](auto edit) { return With(at_.conv, edit); };
  EXPECT_TRUE(
      Objects(graph_, change([](Step& s) { s.variant = 1; }), "variant that does not exist"));
  EXPECT_TRUE(Objects(graph_, change([](Step& s) { s.algorithm = 2; }), "no algorithm 2"));
  EXPECT_TRUE(Objects(graph_, change([](Step& s) { s.op = 99; }), "that does not exist"));
}

TEST_F(CheckPlan, ObjectsToStateWithoutAProperHome) {
  const auto with_homes = [this](const std::vector<Home>& homes) {
    Plan plan = plan_;
    plan.homes = homes;
    return plan;
  };
  const auto [w, dw, h] = std::tuple(plan_.homes[0], plan_.homes[1], plan_.homes[2]);
  EXPECT_TRUE(Objects(graph_, with_homes({w, dw}), "w.history has no home, although it is state"));
  EXPECT_TRUE(Objects(graph_, with_homes({w, h, dw}), "homes: they are not in order of tensors"));
  EXPECT_TRUE(Objects(graph_, with_homes({w, dw, h, h}), "homes: w.history has two"));
  EXPECT_TRUE(Objects(graph_, with_homes({w, dw, {2, Tier::kHost, 0}}),
                      "reads w.history, which has no device range"));
  EXPECT_TRUE(Objects(graph_, with_homes({w, dw, {2, Tier::kDevice, 256}}),
                      "homes: range [256, +256) overlaps the live device range of w.grad"));
  EXPECT_TRUE(Objects(graph_, with_homes({w, dw, h, {3, Tier::kDevice, 768}}),
                      "homes: x has one, but is not state"));
  EXPECT_TRUE(Objects(graph_, with_homes({{99, Tier::kDevice, 0}}),
                      "one is for a tensor that does not exist"));
  Plan allocated = with_homes({w, dw});
  allocated.steps.insert(allocated.steps.begin(), {.tensor = 2, .offset = 512, .end = 256});
  EXPECT_TRUE(Objects(graph_, allocated, "w.history is state and has no home"));
  Plan freed = plan_;
  freed.steps.push_back({.kind = StepKind::kFree, .tensor = 0, .end = 256});
  ++freed.pass_end[2];
  EXPECT_TRUE(Objects(graph_, freed, "w gives its home back"));
  Graph graph = graph_;
  graph.tensors[5].life = Life::kState;
  EXPECT_TRUE(Objects(graph, plan_, "b is state and needs a range of its own"));
}

/// x is written, copied to the host, moved, and read; then a tensor takes its old bytes.
class CheckMove : public ::testing::Test {
 protected:
  CheckMove() {
    GraphWriter net;
    const TensorId w = net.Add("w", 256, Role::kParameter, Life::kState);
    const TensorId x = net.Add("x", 512, Role::kActivation);
    const TensorId y = net.Add("y", 512, Role::kActivation);
    net.Add("first", Pass::kForward, OpKind::kCompute, {w}, {x});
    net.Add("second", Pass::kForward, OpKind::kCompute, {x}, {y}, {{y, x}});
    graph_ = net.graph;
  }

  Plan PlanThat(int64_t goes_to, int64_t y_lies_at, const std::string& moved = "x",
                bool waits = true) const {
    PlanWriter p(graph_, 2048, 512);
    p.Home("w", 0);
    p.Alloc("x", 256);
    const int32_t first = p.Run("first");
    p.Alloc("x", 0, Tier::kHost);
    p.Wait(Lane::kSave, first);
    const int32_t save = p.Offload("x");
    if (waits) p.Wait(Lane::kCompute, save);
    p.Move(moved, goes_to);
    p.Alloc("y", y_lies_at);
    p.Run("second");
    p.Free("x");
    p.Free("x", Tier::kHost);
    p.Free("y");
    p.EndPass(Pass::kForward);
    return p.plan;
  }

  Graph graph_;
};

TEST_F(CheckMove, AcceptsATensorInTheBytesThatAMoveLeaves) {
  EXPECT_EQ(Join(Check(graph_, PlanThat(768, 1280))), "");
  EXPECT_EQ(Join(Check(graph_, PlanThat(768, 256))), "");
}

TEST_F(CheckMove, AcceptsAMoveToAnOverlappingRange) {
  EXPECT_EQ(Join(Check(graph_, PlanThat(512, 1280))), "");
  EXPECT_EQ(Join(Check(graph_, PlanThat(512, 1024))), "");
  EXPECT_TRUE(Objects(graph_, PlanThat(512, 256), "overlaps the live device range of x"));
}

TEST_F(CheckMove, ObjectsToInvalidDestinations) {
  EXPECT_TRUE(Objects(graph_, PlanThat(0, 1280), "overlaps the live device range of w"));
  EXPECT_TRUE(Objects(graph_, PlanThat(1792, 1024), "is not inside the device arena"));
  EXPECT_TRUE(Objects(graph_, PlanThat(800, 1536), "offset 800 is not aligned"));
  EXPECT_TRUE(Objects(graph_, PlanThat(768, 1024), "overlaps the live device range of x"));
}

TEST_F(CheckMove, ObjectsToTensorsThatMayNotMove) {
  EXPECT_TRUE(Objects(graph_, PlanThat(768, 1280, "w"), "w has to stay in its home"));
  EXPECT_TRUE(Objects(graph_, PlanThat(768, 1280, "y"), "reads y, which has no device range"));
  Plan shared = PlanThat(768, 1280);
  Step& alloc = *std::find_if(shared.steps.begin(), shared.steps.end(),
                              [](const Step& s) { return IsMove(s); });
  std::swap(alloc, *(&alloc + 1));
  (&alloc)[0] = {.kind = StepKind::kAlias, .tensor = 2, .on = 1};
  EXPECT_TRUE(Objects(graph_, shared, "x is not the only tensor in its range"));
}

TEST_F(CheckMove, ObjectsToBytesOverwrittenBeforeTheyAreSaved) {
  EXPECT_TRUE(Objects(graph_, PlanThat(512, 1280, "x", false),
                      "(move x): writes x without waiting for step 4 (offload x)"));
  EXPECT_TRUE(Objects(graph_, PlanThat(768, 256, "x", false),
                      "writes y without waiting for step 4 (offload x)"));
}

TEST_F(CheckPlan, ObjectsToAnAliasOverState) {
  GraphWriter net;
  const TensorId x = net.Add("x", 1, Role::kUser, Life::kState),
                 y = net.Add("y", 1, Role::kActivation);
  net.Add("use", Pass::kForward, OpKind::kCompute, {x}, {y}, {{y, x}});
  PlanWriter p(net.graph, 256, 0);
  p.Home("x", 0);
  p.Alias("y", "x");
  p.Run("use");
  p.Free("y");
  p.EndPass(Pass::kForward);
  EXPECT_TRUE(Objects(net.graph, p.plan, "x does not have its value: its range holds y"));
}

TEST_F(CheckPlan, ObjectsToAWrongListOfReadableTensors) {
  const auto readable = [this](std::vector<TensorId> list) {
    Plan plan = plan_;
    plan.readable = std::move(list);
    return plan;
  };
  EXPECT_TRUE(Objects(graph_, readable({}), "loss is marked keep but is not listed as readable"));
  EXPECT_TRUE(Objects(graph_, readable({}), "loss still has a device range"));
  EXPECT_TRUE(Objects(graph_, readable({3, 7}), "x has no range although it is readable"));
  EXPECT_TRUE(Objects(graph_, readable({7, 7}), "not sorted, or names one twice"));
  EXPECT_TRUE(Objects(graph_, readable({0, 7}), "w is state: it is not listed"));
  EXPECT_TRUE(Objects(graph_, readable({7, 99}), "names one that does not exist"));
}

TEST_F(CheckPlan, ObjectsToAReadableTensorThatWasOverwritten) {
  // a is bound to the end, but relu has written b on it.
  Plan plan = Without(plan_, at_.free_a);
  plan.readable = {4, 7};
  EXPECT_TRUE(Objects(graph_, plan, "a does not have its value"));
}

TEST_F(CheckPlan, ObjectsToWrongEndsOfPasses) {
  Plan early = plan_;
  early.pass_end[0] = at_.conv;
  EXPECT_TRUE(Objects(graph_, early, "(compute conv): lies outside the forward pass"));
  Plan late = plan_;
  late.pass_end[1] = at_.update + 1;
  EXPECT_TRUE(Objects(graph_, late, "(update w/update): lies outside the update pass"));
  Plan short_of = plan_;
  --short_of.pass_end[2];
  EXPECT_TRUE(Objects(graph_, short_of, "do not cut the plan's"));
}

TEST_F(CheckPlan, NeedsSavedTensorsOnlyIfAVariantReadsThem) {
  const auto mask_variant = [](Step& step) { step.variant = 1; };
  EXPECT_TRUE(
      Objects(graph_, With(at_.alias_da + 1, mask_variant), "writes mask, which has no device"));
}

TEST_F(CheckPlan, TracksEmptyTensors) {
  GraphWriter net;
  const TensorId x = net.Add("x", 0, Role::kActivation), y = net.Add("y", 0, Role::kActivation);
  net.Add("make", Pass::kForward, OpKind::kCompute, {}, {x});
  net.Add("use", Pass::kForward, OpKind::kCompute, {x}, {y});
  PlanWriter p(net.graph, 0, 0);
  p.Alloc("x", 0);
  p.Alloc("y", 0);
  p.Run("make");
  p.Run("use");
  p.Free("x");
  p.Free("y");
  p.EndPass(Pass::kForward);
  EXPECT_EQ(Join(Check(net.graph, p.plan)), "");
  for (int32_t step = 0; step < static_cast<int32_t>(p.plan.steps.size()); ++step) {
    EXPECT_FALSE(Check(net.graph, Without(p.plan, step)).empty()) << "without step " << step;
  }
}

TEST_F(CheckPlan, ObjectsToStepsThatNameNothingInTheGraph) {
  for (int kind = 0; kind <= static_cast<int>(StepKind::kWait); ++kind) {
    for (int32_t id : {-7, kNone, 1000}) {
      Plan plan = plan_;
      plan.steps[at_.relu] = {
          .kind = static_cast<StepKind>(kind), .tensor = id, .on = id, .op = id, .step = id};
      EXPECT_FALSE(Check(graph_, plan).empty());
    }
  }
}

/// SmallNet's plan with one more recomputation.
class CheckRecompute : public CheckPlan {
 protected:
  /// The objections to a recomputation of conv right after its first run, after `change` was
  /// applied to the graph and to that step.
  std::string Rerun(const std::function<void(Graph*, Step*)>& change) const {
    Graph graph = graph_;
    graph.ops[1].repeatable = true;
    Plan plan = plan_;
    Step again = plan.steps[at_.conv];
    again.recompute = true;
    change(&graph, &again);
    plan.steps.insert(plan.steps.begin() + at_.conv + 1, again);
    for (Step& step : plan.steps) step.step += step.kind == StepKind::kWait && step.step > at_.conv;
    for (int32_t& end : plan.pass_end) ++end;
    return Join(Check(graph, plan));
  }
};

TEST_F(CheckRecompute, AcceptsARecomputationThatGivesTheSameBits) {
  EXPECT_EQ(Rerun([](Graph*, Step*) {}), "");
}

TEST_F(CheckRecompute, ObjectsToARecomputationThatMayGiveOtherBits) {
  const auto expect = [&](const std::string& words,
                          const std::function<void(Graph*, Step*)>& change) {
    const std::string found = Rerun(change);
    EXPECT_NE(found.find(words), std::string::npos) << words << " in " << found;
  };
  expect("(recompute conv): is not a forward operation that may run again",
         [](Graph* graph, Step*) { graph->ops[1].repeatable = false; });
  expect("(recompute data): is not a forward operation that may run again",
         [](Graph*, Step* again) { again->op = 0; });
  expect("(recompute relu): runs again before it has run", [](Graph* graph, Step* again) {
    graph->ops[2].repeatable = true;
    again->op = 2;
  });
  expect("(recompute conv): runs again in another variant or with another algorithm",
         [](Graph*, Step* again) { again->algorithm = 0; });
  expect("(recompute conv): may give other bits with this algorithm", [](Graph* graph, Step*) {
    graph->ops[1].variants[0].algorithms[1].deterministic = false;
  });
  expect("(recompute conv): reads x, which has changed since it ran first",
         [](Graph* graph, Step*) { graph->ops[1].variants[0].writes.push_back(3); });
  expect("names a tensor, tier, lane, operation or variant that does not exist",
         [](Graph*, Step* again) { again->op = 99; });
}

}  // namespace
}  // namespace layrub::placement
