#include "layrub/placement/search/pack_timed.hpp"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "layrub/placement/check/check.hpp"
#include "layrub/placement/cost/live_bytes.hpp"
#include "layrub/placement/cost/timeline.hpp"
#include "layrub/placement/ir/lifetimes.hpp"
#include "layrub/placement/schedule/schedule.hpp"
#include "layrub/placement/search/evaluate.hpp"
#include "layrub/placement/test/hand_made.hpp"
#include "layrub/placement/test/random_graph.hpp"
#include "layrub/placement/test/random_program.hpp"

namespace layrub::placement::search {
namespace {

using testing::LinkMachine;
using testing::RandomGraph;
using testing::RandomProgram;

/// x, of 8 units, is evicted while y is on the device; each operation takes a second, and each copy
/// two.
class EvictedX : public ::testing::Test {
 protected:
  EvictedX() {
    program_ = DefaultProgram(net_.graph);
    program_.tensors[net_.x].evictions.push_back({0, 0, 3, 3, false});
  }
  Packed PackedIn(int64_t units) {
    const Machine machine = LinkMachine(4);
    Lifetimes lives = FindLifetimes(net_.graph, program_).value();
    const Outcome outcome = Evaluate(net_.graph, machine, units * kAlignment, lives,
                                     cost::LiveBytes(lives, program_.runs.size()), &program_);
    lives = FindLifetimes(net_.graph, program_).value();
    return PackTimed(net_.graph, machine, {units * kAlignment}, lives, program_, outcome.starts);
  }
  testing::NetOfThree net_;
  Program program_;
};

TEST_F(EvictedX, IsPackedByTheTimesOfItsRuns) {
  const Packed packed = PackedIn(16);
  EXPECT_DOUBLE_EQ(packed.seconds, 7);  // z waits for the copy of x until second 3, x's backward 2
  const Lifetimes lives = FindLifetimes(net_.graph, program_).value();
  std::vector<pack::Timing> of_x;
  for (const LiveInterval& interval : lives.intervals) {
    if (interval.tensor == net_.x) of_x.push_back(packed.options.timings.ranges[interval.block]);
  }
  ASSERT_EQ(of_x.size(), 2);
  EXPECT_DOUBLE_EQ(of_x[0].wanted, 0);
  EXPECT_DOUBLE_EQ(of_x[0].ready, 3);  // written and saved
  EXPECT_DOUBLE_EQ(of_x[1].ready, packed.seconds);
}

TEST_F(EvictedX, DoesNotFitFewerBytes) { EXPECT_EQ(PackedIn(15).seconds, kNever); }

TEST_F(EvictedX, IsRefusedWithTheTimingsOfOtherRanges) {
  pack::Options packing;
  packing.timings.ranges.resize(
      static_cast<size_t>(FindLifetimes(net_.graph, program_).value().blocks) + 1);
  const Result<Plan> plan = schedule::Schedule(net_.graph, program_, packing);
  ASSERT_FALSE(plan.ok());
  EXPECT_NE(plan.status().message.find("timings of"), std::string::npos);
}

TEST(PackTimed, GivesCorrectPlansThatTakeThePredictedTime) {
  int packed = 0;
  for (uint64_t seed = 0; seed < 60; ++seed) {
    const Graph graph = RandomGraph(seed, 40);
    const Machine machine = LinkMachine(1000);
    Program program = WithoutTimes(RandomProgram(graph, seed, /*reckless=*/false));
    const int64_t host = testing::RandomPacking(seed).host_bytes;
    const Lifetimes first = FindLifetimes(graph, program, host).value();
    const int64_t bytes = cost::PeakLiveBytes(first, program.runs.size()) * 101 / 100;
    const Outcome outcome = Evaluate(graph, machine, bytes, first,
                                     cost::LiveBytes(first, program.runs.size()), &program);
    const Lifetimes lives = FindLifetimes(graph, program, host).value();
    const Packed found = PackTimed(graph, machine, {bytes, host}, lives, program, outcome.starts);
    if (found.seconds == kNever) continue;
    ++packed;
    const Plan plan = schedule::Schedule(graph, found.program, found.options).value();
    EXPECT_EQ(plan, found.plan);
    EXPECT_LE(plan.device_bytes, bytes) << graph.name;
    EXPECT_EQ(Check(graph, plan), std::vector<std::string>{}) << graph.name;
    EXPECT_EQ(Simulate(graph, plan, machine).seconds, found.seconds) << graph.name;
  }
  EXPECT_GT(packed, 40);
}

}  // namespace
}  // namespace layrub::placement::search
