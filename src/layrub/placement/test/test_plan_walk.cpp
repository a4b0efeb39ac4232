#include "layrub/placement/ir/plan_walk.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "layrub/placement/schedule/schedule.hpp"
#include "layrub/placement/test/part_plan.hpp"
#include "layrub/placement/test/random_graph.hpp"
#include "layrub/placement/test/random_program.hpp"
#include "layrub/placement/test/small_plan.hpp"

namespace layrub {
namespace {

/// "x [768, 1280) read, a [1280, 1792) written".
std::string Text(const Graph& graph, const PlanWalk& walk) {
  std::string text;
  for (const Access& access : walk.accesses()) {
    text += (text.empty() ? "" : ", ") + graph.tensors[access.tensor].name + " [" +
            std::to_string(access.begin) + ", " + std::to_string(access.end) + ")" +
            (access.writes ? " written" : " read");
  }
  return text;
}

class PlanWalkTest : public testing::CheckPlan {
 protected:
  /// A walk that has come to step `number`.
  static PlanWalk At(const Graph& graph, const Plan& plan, int32_t number) {
    PlanWalk walk(graph, plan);
    while (walk.number() < number) EXPECT_TRUE(walk.Next());
    return walk;
  }
};

TEST_F(PlanWalkTest, BeginsWithTheHomes) {
  PlanWalk walk(graph_, plan_);
  ASSERT_EQ(walk.ranges().size(), 3u);
  EXPECT_EQ(walk.ranges()[1].offset, 256);
  EXPECT_EQ(walk.live_bytes(Tier::kDevice), 768);
  EXPECT_EQ(walk.live_bytes(Tier::kHost), 0);
}

TEST_F(PlanWalkTest, TellsWhatAnOperationReadsAndWrites) {
  EXPECT_EQ(Text(graph_, At(graph_, plan_, at_.conv)),
            "x [768, 1280) read, w [0, 256) read, a [1280, 1792) written, "
            "conv:workspace [1792, 2048) written");
  // The mask, which nobody reads, has no range; b has the range of a.
  EXPECT_EQ(Text(graph_, At(graph_, plan_, at_.relu)),
            "a [1280, 1792) read, b [1280, 1792) written");
}

TEST_F(PlanWalkTest, TellsWhatACopyReadsAndWrites) {
  const PlanWalk walk = At(graph_, plan_, at_.offload);
  EXPECT_EQ(Text(graph_, walk), "x [768, 1280) read, x [0, 512) written");
  EXPECT_EQ(walk.ranges()[walk.accesses()[1].range].tier, Tier::kHost);
}

TEST_F(PlanWalkTest, TellsWhenARangeBeginsAndEnds) {
  const PlanWalk taken = At(graph_, plan_, at_.alloc_a);
  EXPECT_EQ(taken.change().bytes, 512);
  EXPECT_EQ(taken.change().range, taken.RangeOf(Tier::kDevice, 4));
  const PlanWalk bound = At(graph_, plan_, at_.alias_b);
  EXPECT_EQ(bound.change().bytes, 0);
  EXPECT_EQ(bound.ranges()[bound.change().range].newest, 5);
  const PlanWalk held = At(graph_, plan_, at_.free_a);  // b has it still
  EXPECT_EQ(held.change().bytes, 0);
  EXPECT_EQ(held.RangeOf(Tier::kDevice, 4), kNone);
  const PlanWalk freed = At(graph_, plan_, at_.free_x);
  EXPECT_EQ(freed.change().bytes, -512);
}

TEST_F(PlanWalkTest, FollowsPartsAndMoves) {
  const Graph net = testing::PartNet();
  const Plan plan = testing::MovedPartPlan(net);
  int copies = 0, moves = 0, parts = 0;
  for (PlanWalk walk(net, plan); walk.Next();) {
    const Step& step = walk.step();
    if (step.kind == StepKind::kFree && step.begin > 0) {
      ++parts;
      EXPECT_EQ(walk.ranges()[walk.RangeOf(Tier::kDevice, step.tensor)].bytes, step.begin);
      EXPECT_LT(walk.change().bytes, 0);
    } else if (IsMove(step)) {
      ++moves;
      ASSERT_EQ(walk.accesses().size(), 2u);
      EXPECT_EQ(walk.accesses()[1].begin - walk.accesses()[0].begin, walk.distance());
      EXPECT_EQ(walk.accesses()[1].begin, step.offset);
    } else if (step.kind == StepKind::kCopy && !IsWhole(net, step)) {
      ++copies;
      for (const Access& access : walk.accesses()) {
        EXPECT_EQ(access.end - access.begin, Aligned(step.end) - step.begin);
        EXPECT_EQ(access.begin - walk.ranges()[access.range].offset, step.begin);
      }
    }
  }
  EXPECT_GT(copies, 0);
  EXPECT_GT(moves, 0);
  EXPECT_GT(parts, 0);
}

TEST(PlanWalk, CountsTheLiveBytesWithinTheArena) {
  for (uint64_t seed = 0; seed < 50; ++seed) {
    const Graph graph = testing::RandomGraph(seed, 12);
    const Plan plan =
        placement::schedule::Schedule(graph, testing::RandomProgram(graph, seed, false),
                                      testing::RandomPacking(seed))
            .value();
    for (PlanWalk walk(graph, plan); walk.Next();) {
      std::array<int64_t, kTiers> bytes{};
      for (const LiveRange& range : walk.ranges())
        bytes[Index(range.tier)] += range.bound > 0 ? range.bytes : 0;
      ASSERT_EQ(walk.live_bytes(Tier::kDevice), bytes[0]) << seed << " step " << walk.number();
      ASSERT_EQ(walk.live_bytes(Tier::kHost), bytes[1]) << seed << " step " << walk.number();
      ASSERT_LE(bytes[0], plan.device_bytes);
      ASSERT_EQ(walk.live_bytes(Tier::kFile), bytes[2]) << seed << " step " << walk.number();
      ASSERT_LE(bytes[1], plan.host_bytes);
      ASSERT_LE(bytes[2], plan.spill_bytes);
    }
  }
}

}  // namespace
}  // namespace layrub
