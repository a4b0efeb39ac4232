// Programs with partly evicted tensors: the steps, and who gets the bytes.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "layrub/placement/check/check.hpp"
#include "layrub/placement/ir/program.hpp"
#include "layrub/placement/ir/uses.hpp"
#include "layrub/placement/schedule/schedule.hpp"
#include "layrub/placement/test/hand_made.hpp"
#include "layrub/placement/test/random_graph.hpp"
#include "layrub/placement/test/random_program.hpp"
#include "layrub/placement/test/replay.hpp"

namespace layrub::placement {
namespace {

using testing::Chain;
using testing::HandMade;
using testing::Steps;
using testing::Uses;
using Lines = std::vector<std::string>;

Plan MustSchedule(const Graph& graph, const Program& program, const pack::Options& packing = {}) {
  const Result<Plan> plan = schedule::Schedule(graph, program, packing);
  EXPECT_TRUE(plan.ok()) << plan.status().message;
  if (!plan.ok()) return {};
  EXPECT_EQ(Check(graph, plan.value()), Lines{});
  return plan.value();
}

/// Chain, where 2 of the 4 units of x stay on the device while it is evicted.
Program PartOfX(const Graph& graph, RunId release) {
  Program program = DefaultProgram(graph);
  program.tensors[1].evictions = {{1, release, 5, 6, false, 2 * kAlignment}};
  return program;
}

TEST(ScheduleParts, LeavesAPartInPlaceDuringAnEviction) {
  const HandMade net = Chain();
  // It ends together with b and c, which are freed first, so that x is alone in its range. Nothing
  // lies on the bytes that it frees.
  const Plan plan = MustSchedule(net.graph, PartOfX(net.graph, 4));
  EXPECT_EQ(Steps(net.graph, plan), (Lines{"alloc device x 256",
                                           "run data/forward variant=0 algorithm=0",
                                           "alloc device a 1280",
                                           "run a/forward variant=0 algorithm=0",
                                           "alloc host x 0",
                                           "wait save for 1",
                                           "copy device host x 512 1024",
                                           "alloc device b 2304",
                                           "run b/forward variant=0 algorithm=0",
                                           "alloc device c 3328",
                                           "run c/forward variant=0 algorithm=0",
                                           "alloc device b.grad 4352",
                                           "run c/backward variant=0 algorithm=0",
                                           "free device b",
                                           "free device c",
                                           "free device x 512 1024",
                                           "alloc device x 256 512 1024",
                                           "wait load for 3",
                                           "wait load for 6",
                                           "copy host device x 512 1024",
                                           "alloc device a.grad 2304",
                                           "run b/backward variant=0 algorithm=0",
                                           "free device a",
                                           "free device b.grad",
                                           "free host x",
                                           "wait compute for 19",
                                           "run a/backward variant=0 algorithm=0",
                                           "free device x",
                                           "free device a.grad"}));
  EXPECT_EQ(plan.device_bytes, 21 * kAlignment);
}

/// The copies of `plan`, in order.
Lines Copies(const Graph& graph, const Plan& plan) {
  Lines copies;
  for (const std::string& step : Steps(graph, plan)) {
    if (step.find("copy") == 0) copies.push_back(step);
  }
  return copies;
}

TEST(ScheduleParts, OffloadsOnceAndPrefetchesWhatEachEvictionNeeds) {
  HandMade net;
  const TensorId x = net.Add("x", 4);
  net.Forward("make", Uses({}, {x}));
  for (const char* name : {"first", "second", "third"}) net.Forward(name, Uses({x}, {}));
  Program program = DefaultProgram(net.graph);
  program.tensors[x].evictions = {{0, 0, 1, 1, false, 3 * kAlignment},
                                  {2, 2, 3, 3, false, 1 * kAlignment}};
  EXPECT_EQ(Copies(net.graph, MustSchedule(net.graph, program)),
            (Lines{"copy device host x 256 1024", "copy host device x 768 1024",
                   "copy host device x 256 1024"}));
}

TEST(ScheduleParts, ReusesTheBytesThatAPartFrees) {
  // During c/backward: w, 2 of the 4 units of x, and 4 units each of a, b, c and b.grad.
  const HandMade net = Chain();
  Program program = PartOfX(net.graph, 2);
  program.tensors[1].evictions[0].prefetch = 6;
  const pack::Options packing = testing::IntoPeak(net.graph, program);
  EXPECT_EQ(packing.enough_bytes, 19 * kAlignment);
  const Plan plan = MustSchedule(net.graph, program, packing);
  EXPECT_EQ(plan.device_bytes, 19 * kAlignment);
  for (uint64_t seed = 0; seed < 20; ++seed)
    EXPECT_EQ(testing::Replay(net.graph, plan, seed), "") << seed;
  const pack::Options fixed{.enough_bytes = packing.enough_bytes};
  EXPECT_EQ(MustSchedule(net.graph, program, fixed).device_bytes, 21 * kAlignment);
}

TEST(ScheduleParts, MovesPartsAndTheirNeighbours) {
  int64_t parts = 0, moved = 0;
  for (uint64_t seed = 0; seed < 100; ++seed) {
    const Graph graph = testing::RandomGraph(seed, 20);
    const Program program = testing::RandomProgram(graph, seed, /*reckless=*/false);
    const Plan plan = MustSchedule(graph, program,
                                   testing::IntoPeak(graph, program, testing::RandomPacking(seed)));
    EXPECT_EQ(testing::Replay(graph, plan, seed), "") << seed;
    for (const Step& step : plan.steps) {
      if (step.kind != StepKind::kFree && !IsMove(step)) continue;
      const bool part = !IsWhole(graph, step);
      parts += part && step.kind == StepKind::kFree;
      moved += part && IsMove(step);
    }
  }
  EXPECT_GT(parts, 100);
  EXPECT_GT(moved, 10);
}

}  // namespace
}  // namespace layrub::placement
