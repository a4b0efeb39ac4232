#include "layrub/placement/schedule/paged_waits.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "layrub/placement/cost/live_bytes.hpp"
#include "layrub/placement/cost/timeline.hpp"
#include "layrub/placement/ir/lifetimes.hpp"
#include "layrub/placement/ir/program.hpp"
#include "layrub/placement/schedule/emit_steps.hpp"
#include "layrub/placement/test/hand_made.hpp"
#include "layrub/placement/test/plan_writer.hpp"
#include "layrub/placement/test/random_graph.hpp"
#include "layrub/placement/test/random_program.hpp"

namespace layrub::placement::schedule {
namespace {

using testing::GraphWriter;
using testing::PlanWriter;
using testing::RandomGraph;
using testing::RandomProgram;

/// x is saved and freed; y is made; x comes back.
class AddPagedWaitsTest : public ::testing::Test {
 protected:
  AddPagedWaitsTest() {
    GraphWriter net;
    const TensorId x = net.Add("x", 512, Role::kActivation);
    const TensorId y = net.Add("y", 256, Role::kActivation);
    net.Add("first", Pass::kForward, OpKind::kCompute, {}, {x});
    net.Add("second", Pass::kForward, OpKind::kCompute, {}, {y});
    net.Add("third", Pass::kForward, OpKind::kCompute, {x, y}, {});
    graph_ = net.graph;
    PlanWriter p(graph_, 0, 512);
    p.Alloc("x", 0);
    p.Run("first");
    p.Alloc("x", 0, Tier::kHost);
    p.Offload("x");
    p.Free("x");
    p.Alloc("y", 0);
    p.Run("second");
    p.Alloc("x", 0);
    p.Prefetch("x");
    p.Run("third");
    p.EndPass(Pass::kForward);
    plan_ = p.plan;
  }

  /// "who waits for whom", in order.
  std::vector<std::string> WaitsWithin(int64_t bytes) {
    Plan plan = plan_;
    if (!AddPagedWaits(graph_, bytes, &plan)) return {"does not fit"};
    EXPECT_EQ(plan.pass_end[0], static_cast<int32_t>(plan.steps.size()));
    std::vector<std::string> waits;
    for (const Step& step : plan.steps) {
      if (step.kind != StepKind::kWait) continue;
      waits.push_back(std::string(Name(step.lane)) + " for " + Verb(graph_, plan.steps[step.step]));
    }
    return waits;
  }

  Graph graph_;
  Plan plan_;
};

TEST_F(AddPagedWaitsTest, TakesWhatHasBeenFreeLongest) {
  // x comes back to bytes that nobody has had, or to some that it had itself.
  EXPECT_EQ(WaitsWithin(1280), (std::vector<std::string>{"save for compute", "load for offload",
                                                         "compute for prefetch"}));
  EXPECT_EQ(WaitsWithin(1024),
            (std::vector<std::string>{"save for compute", "load for compute", "load for offload",
                                      "compute for prefetch"}));
}

TEST_F(AddPagedWaitsTest, FailsIfMoreBytesLiveThanThereAre) {
  EXPECT_EQ(WaitsWithin(767), (std::vector<std::string>{"does not fit"}));
  EXPECT_EQ(WaitsWithin(768).size(), 4u);
}

/// The first of three units of x stays. y takes another one, which x takes back when it is whole
/// again.
class PagedParts : public ::testing::Test {
 protected:
  PagedParts() {
    GraphWriter net;
    const TensorId x = net.Add("x", 768, Role::kActivation);
    const TensorId y = net.Add("y", 256, Role::kActivation);
    net.Add("first", Pass::kForward, OpKind::kCompute, {}, {x});
    net.Add("second", Pass::kForward, OpKind::kCompute, {}, {y});
    net.Add("third", Pass::kForward, OpKind::kCompute, {x}, {});
    graph_ = net.graph;
    PlanWriter p(graph_, 0, 768);
    p.Alloc("x", 0);
    p.Run("first");
    p.Alloc("x", 0, Tier::kHost);
    p.Offload("x", 256, 512);
    p.Keep("x", 256);
    p.Alloc("y", 0);
    p.Run("second");
    p.Free("y");
    p.Alloc("x", 0, Tier::kDevice, 256);
    p.Prefetch("x", 256, 512);
    p.Run("third");
    p.EndPass(Pass::kForward);
    plan_ = p.plan;
  }

  Graph graph_;
  Plan plan_;
};

TEST_F(PagedParts, GiveOthersOnlyTheEvictedBytes) {
  ASSERT_TRUE(AddPagedWaits(graph_, 768, &plan_));
  // y takes bytes of x, so it waits for the copy; x takes what y had.
  EXPECT_EQ(
      testing::Steps(graph_, plan_),
      (std::vector<std::string>{
          "alloc device x 0", "run first variant=0 algorithm=0", "alloc host x 0",
          "wait save for 1", "copy device host x 256 768", "free device x 256 768",
          "alloc device y 0", "wait compute for 4", "run second variant=0 algorithm=0",
          "free device y", "alloc device x 0 256 768", "wait load for 8", "wait load for 4",
          "copy host device x 256 768", "wait compute for 13", "run third variant=0 algorithm=0"}));
}

TEST_F(PagedParts, KeepTheirBytes) {
  Plan plan = plan_;
  EXPECT_FALSE(AddPagedWaits(graph_, 767, &plan));
  // A tensor larger than the evicted bytes does not fit.
  graph_.tensors[1].bytes = 513;
  for (Step& step : plan_.steps) {
    if (step.tensor == 1) step.end = 513;
  }
  EXPECT_FALSE(AddPagedWaits(graph_, 768, &plan_));
}

TEST(AddPagedWaits, FitsFromThePeakUpwardAndKeepsEveryStep) {
  for (uint64_t seed = 0; seed < 500; ++seed) {
    const Graph graph = RandomGraph(seed, static_cast<int>(seed % 40));
    const Program program = RandomProgram(graph, seed, /*reckless=*/false);
    const Lifetimes lives =
        FindLifetimes(graph, program, testing::RandomPacking(seed).host_bytes).value();
    const int64_t peak = cost::PeakLiveBytes(lives, program.runs.size());
    const Plan steps = EmitSteps(graph, program, lives).plan;
    for (const int64_t bytes : {peak, 2 * peak}) {
      Plan paged = steps;
      ASSERT_TRUE(AddPagedWaits(graph, bytes, &paged)) << seed;
      const Timeline timeline = Simulate(graph, paged, Machine{});
      std::erase_if(paged.steps, [](const Step& step) { return step.kind == StepKind::kWait; });
      EXPECT_EQ(paged.steps, steps.steps) << seed;
      const auto timed = std::count_if(steps.steps.begin(), steps.steps.end(), [](const Step& s) {
        return s.op != kNone || IsOffload(s) || IsPrefetch(s);
      });
      EXPECT_EQ(timeline.spans.size(), timed) << "a lane waits for ever: seed " << seed;
    }
    Plan paged = steps;
    EXPECT_FALSE(peak > 0 && AddPagedWaits(graph, peak - 1, &paged)) << seed;
  }
}

}  // namespace
}  // namespace layrub::placement::schedule
