// Moves of a tensor to an overlapping range: what has to wait for what, what they cost, and random
// plans with Moves, checked and replayed.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "layrub/placement/cost/timeline.hpp"
#include "layrub/placement/ir/program.hpp"
#include "layrub/placement/schedule/schedule.hpp"
#include "layrub/placement/schedule/waits.hpp"
#include "layrub/placement/test/hand_made.hpp"
#include "layrub/placement/test/mutate.hpp"
#include "layrub/placement/test/needed_waits.hpp"
#include "layrub/placement/test/plan_writer.hpp"
#include "layrub/placement/test/random_graph.hpp"
#include "layrub/placement/test/random_program.hpp"
#include "layrub/placement/test/replay.hpp"
#include "layrub/placement/test/slides.hpp"
#include "layrub/placement/test/small_plan.hpp"

namespace layrub::placement {
namespace {

using testing::ExpectRight;
using testing::GraphWriter;
using testing::Join;
using testing::PlanWriter;
using testing::RandomGraph;
using testing::RandomProgram;
using testing::Replay;
using testing::Steps;
using Lines = std::vector<std::string>;

/// x (four units of 256 bytes) is written, read together with y (one unit), and read.
class Moves : public ::testing::Test {
 protected:
  static constexpr int64_t kUnit = kAlignment;

  Moves() {
    GraphWriter net;
    const TensorId x = net.Add("x", 4 * kUnit, Role::kActivation);
    const TensorId y = net.Add("y", kUnit, Role::kActivation);
    net.Add("first", Pass::kForward, OpKind::kCompute, {}, {x});
    net.Add("second", Pass::kForward, OpKind::kCompute, {x}, {y});
    net.Add("third", Pass::kForward, OpKind::kCompute, {x, y}, {});
    graph_ = net.graph;
  }

  /// A plan of these steps and the Waits that they need.
  Plan Finished(PlanWriter* writer) const {
    writer->EndPass(Pass::kForward);
    schedule::AddWaits(graph_, &writer->plan);
    return writer->plan;
  }

  /// x at unit `from` is saved and goes to unit `to`.
  Plan MovesWhileItIsSaved(int64_t from, int64_t to) const {
    PlanWriter p(graph_, 9 * kUnit, 4 * kUnit);
    p.Alloc("x", from * kUnit);
    p.Run("first");
    p.Alloc("x", 0, Tier::kHost);
    p.Offload("x");
    p.Move("x", to * kUnit);
    p.Alloc("y", 8 * kUnit);
    p.Run("second");
    p.Run("third");
    for (const char* tensor : {"x", "y"}) p.Free(tensor);
    p.Free("x", Tier::kHost);
    return Finished(&p);
  }

  /// x is saved, comes back to unit 3, moves to unit `to`, is saved again and comes back to the
  /// bytes that it left and covered; y also comes back to bytes that x left.
  Plan MovesWhenItIsBack(int64_t to) const {
    PlanWriter p(graph_, 9 * kUnit, 5 * kUnit);
    p.Alloc("x", 0);
    p.Run("first");
    p.Alloc("x", 0, Tier::kHost);
    p.Offload("x");
    p.Alloc("y", 8 * kUnit);
    p.Run("second");
    p.Alloc("y", 4 * kUnit, Tier::kHost);
    p.Offload("y");
    for (const char* tensor : {"x", "y"}) p.Free(tensor);
    p.Alloc("x", 3 * kUnit);
    p.Prefetch("x");
    p.Move("x", to * kUnit);
    p.Alloc("y", (to < 3 ? 6 : 3) * kUnit);
    p.Prefetch("y");
    p.Run("third");
    for (const char* tensor : {"x", "y"}) p.Free(tensor);
    for (const char* tensor : {"x", "y"}) p.Free(tensor, Tier::kHost);
    return Finished(&p);
  }

  Lines WaitsBeforeTheMove(const Plan& plan) const {
    size_t at = 0;
    while (!IsMove(plan.steps[at])) ++at;
    return testing::WaitsBefore(graph_, plan, at);
  }

  Graph graph_;
};

TEST_F(Moves, WaitForASaveOfTheirDestination) {
  for (const auto& [from, to] : {std::pair(2, 1), std::pair(2, 0), std::pair(1, 4)}) {
    const Plan plan = MovesWhileItIsSaved(from, to);
    EXPECT_EQ(WaitsBeforeTheMove(plan), (Lines{"copy device host x"}));
    ExpectRight(graph_, plan);
  }
}

TEST_F(Moves, DoNotWaitForASaveOfOtherBytes) {
  const Plan plan = MovesWhileItIsSaved(0, 4);
  EXPECT_EQ(WaitsBeforeTheMove(plan), Lines());
  EXPECT_EQ(Join(Check(graph_, plan)), "");
}

TEST_F(Moves, WaitForPrefetchesAndDelayTheNextUserOfTheirBytes) {
  for (const int64_t to : {2, 1, 4}) {
    const Plan plan = MovesWhenItIsBack(to);
    EXPECT_EQ(WaitsBeforeTheMove(plan), (Lines{"copy host device x"}));
    const Lines steps = Steps(graph_, plan);
    bool awaited = false;
    for (const Step& step : plan.steps) {
      awaited |=
          step.kind == StepKind::kWait && step.lane == Lane::kLoad && IsMove(plan.steps[step.step]);
    }
    EXPECT_TRUE(awaited) << "by the load lane, which brings y";
    ExpectRight(graph_, plan);
  }
}

TEST_F(Moves, CostALatencyForEachPiece) {
  Machine machine{"unit", 1, 2, 1, 1, 2, 10};
  EXPECT_DOUBLE_EQ(MoveSeconds(1000, 1000, machine), 1010);
  EXPECT_DOUBLE_EQ(MoveSeconds(1000, 5000, machine), 1010);
  EXPECT_DOUBLE_EQ(MoveSeconds(1000, 999, machine), 1020);
  EXPECT_DOUBLE_EQ(MoveSeconds(1000, 256, machine), 1040);
  EXPECT_DOUBLE_EQ(MoveSeconds(0, 256, machine), 0);
  EXPECT_DOUBLE_EQ(MoveSeconds(1000, 0, machine), 0) << "there is nothing to do";
}

TEST_F(Moves, HaveTheDistanceBetweenTheirOffsets) {
  PlanWriter p(graph_, 9 * kUnit, 4 * kUnit);
  p.Alloc("x", 2 * kUnit);
  p.Alloc("x", 0, Tier::kHost);
  p.Move("x", kUnit);
  p.Alias("y", "x");
  p.Free("x");
  p.Move("y", 4 * kUnit);
  EXPECT_EQ(MoveDistances(graph_, p.plan), (std::vector<int64_t>{0, 0, kUnit, 0, 0, 3 * kUnit}));
}

TEST(RandomSlides, GiveTheRightValuesInAnyOrderOfTheLanes) {
  int64_t slides = 0, moves = 0;
  for (uint64_t seed = 0; seed < 200; ++seed) {
    const Graph graph = RandomGraph(seed, static_cast<int>(seed % 40));
    const Plan packed = schedule::Schedule(graph, RandomProgram(graph, seed, /*reckless=*/false),
                                           testing::RandomPacking(seed))
                            .value();
    const Plan plan = testing::WithSlides(graph, packed, seed);
    ASSERT_EQ(plan.device_bytes, packed.device_bytes);
    ASSERT_EQ(Join(Check(graph, plan)), "") << "seed " << seed;
    for (uint64_t order = 0; order < 5; ++order)
      ASSERT_EQ(Replay(graph, plan, order), "") << "seed " << seed;
    const Result<Plan> read = PlanFromText(ToText(plan, graph), graph);
    ASSERT_TRUE(read.ok()) << read.status().message;
    ASSERT_EQ(read.value(), plan);
    slides += testing::SlidesIn(graph, plan);
    moves += testing::MovesIn(plan);
  }
  EXPECT_GT(slides, 1000);
  EXPECT_GT(moves, slides);
}

TEST(RandomSlides, AreRefusedIfAnyStepIsRemovedOrChanged) {
  int64_t slides = 0;
  for (uint64_t seed = 0; seed < 40; ++seed) {
    const Graph made = RandomGraph(seed, static_cast<int>(seed % 30));
    const Plan packed = schedule::Schedule(made, RandomProgram(made, seed, /*reckless=*/false),
                                           testing::RandomPacking(seed))
                            .value();
    const Graph graph = testing::WithNeededHostAccess(made, packed);
    const Plan plan = testing::WithSlides(graph, packed, seed);
    slides += testing::SlidesIn(graph, plan);
    for (const testing::Mutation& mutation : testing::Mutations(graph, plan)) {
      if (!mutation.breaks()) continue;
      EXPECT_FALSE(Check(graph, testing::Apply(plan, mutation)).empty())
          << "seed " << seed << ": no objection to " << Describe(graph, plan, mutation);
    }
  }
  EXPECT_GT(slides, 100);
}

}  // namespace
}  // namespace layrub::placement
