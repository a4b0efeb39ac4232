#include "layrub/placement/schedule/timings.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "layrub/placement/check/check.hpp"
#include "layrub/placement/cost/live_bytes.hpp"
#include "layrub/placement/cost/timeline.hpp"
#include "layrub/placement/ir/lifetimes.hpp"
#include "layrub/placement/schedule/emit_steps.hpp"
#include "layrub/placement/schedule/paged_waits.hpp"
#include "layrub/placement/schedule/schedule.hpp"
#include "layrub/placement/search/estimate.hpp"
#include "layrub/placement/test/hand_made.hpp"
#include "layrub/placement/test/random_graph.hpp"
#include "layrub/placement/test/random_program.hpp"

namespace layrub::placement::schedule {
namespace {

using testing::HandMade;
using testing::LinkMachine;
using testing::RandomGraph;
using testing::RandomProgram;
using testing::Uses;

constexpr int64_t kUnit = kAlignment;

/// x, of 8 units, is evicted while y is on the device; each operation takes a second.
class EvictionTimings : public ::testing::Test {
 protected:
  EvictionTimings() {
    x_ = net_.Add("x", 8);
    const TensorId y = net_.Add("y", 8), z = net_.Add("z", 8);
    net_.Forward("x/forward", Uses({}, {x_}));
    net_.Forward("y/forward", Uses({}, {y}));
    net_.Forward("z/forward", Uses({y}, {z}));
    net_.Backward("x/backward", Uses({x_}, {}));
    for (Op& op : net_.graph.ops) op.variants[0].flops = 1;
    program_ = DefaultProgram(net_.graph);
    program_.tensors[x_].evictions.push_back({0, 0, 3, 3, false});
    lives_ = FindLifetimes(net_.graph, program_).value();
  }
  HandMade net_;
  TensorId x_ = kNone;
  Program program_;
  Lifetimes lives_;
};

TEST_F(EvictionTimings, IsWantedAtTheFirstAndReadyAfterTheLastAccess) {
  Plan plan = EmitSteps(net_.graph, program_, lives_).plan;
  ASSERT_TRUE(AddPagedWaits(net_.graph, 24 * kUnit, &plan));
  const Machine machine = LinkMachine(4);  // a copy takes two seconds
  const std::vector<pack::Timing> timings =
      TimingsOf(net_.graph, plan, Simulate(net_.graph, plan, machine), lives_.blocks);
  std::vector<pack::Timing> of_x;
  for (const LiveInterval& interval : lives_.intervals) {
    if (interval.tensor == x_) of_x.push_back(timings[interval.block]);
  }
  ASSERT_EQ(of_x.size(), 2);
  EXPECT_DOUBLE_EQ(of_x[0].wanted, 0);
  EXPECT_DOUBLE_EQ(of_x[0].ready, 3);                   // written and saved
  EXPECT_DOUBLE_EQ(of_x[1].ready - of_x[1].wanted, 3);  // loaded and read
}

TEST_F(EvictionTimings, IsRefusedWithTheTimingsOfOtherRanges) {
  pack::Options packing;
  packing.timings.ranges.resize(static_cast<size_t>(lives_.blocks) + 1);
  const Result<Plan> plan = Schedule(net_.graph, program_, packing);
  ASSERT_FALSE(plan.ok());
  EXPECT_NE(plan.status().message.find("timings of"), std::string::npos);
}

TEST_F(EvictionTimings, IsNotPackedIfItTakesLongerThanItMay) {
  const Machine machine = LinkMachine(4);
  const int64_t bytes = 24 * kUnit;
  const auto packed_in = [&](double most_seconds) {
    return search::PackTimed(net_.graph, machine, {bytes}, lives_, program_, most_seconds);
  };
  EXPECT_LT(packed_in(100).seconds, 100);
  EXPECT_FALSE(packed_in(100).options.timings.ranges.empty());
  EXPECT_GT(packed_in(1).seconds, 100);
  EXPECT_TRUE(packed_in(1).options.timings.ranges.empty());
}

TEST(PackTimed, GivesCorrectPlansThatTakeThePredictedTime) {
  int packed = 0;
  for (uint64_t seed = 0; seed < 60; ++seed) {
    const Graph graph = RandomGraph(seed, 40);
    const Machine machine = LinkMachine(1000);
    const Program program = RandomProgram(graph, seed, /*reckless=*/false);
    const int64_t host = testing::RandomPacking(seed).host_bytes;
    const Lifetimes lives = FindLifetimes(graph, program, host).value();
    const int64_t bytes = cost::PeakLiveBytes(lives, program.runs.size()) * 101 / 100;
    const search::Packed found =
        search::PackTimed(graph, machine, {bytes, host}, lives, program, 1e9);
    if (!(found.seconds < 1e9)) continue;
    ++packed;
    const Plan plan = Schedule(graph, found.program, found.options).value();
    EXPECT_EQ(plan, found.plan);
    EXPECT_LE(plan.device_bytes, bytes) << graph.name;
    EXPECT_EQ(Check(graph, plan), std::vector<std::string>{}) << graph.name;
    EXPECT_EQ(Simulate(graph, plan, machine).seconds, found.seconds) << graph.name;
  }
  EXPECT_GT(packed, 40);
}

}  // namespace
}  // namespace layrub::placement::schedule
