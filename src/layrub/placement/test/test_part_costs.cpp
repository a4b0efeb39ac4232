// Device bytes of a partly evicted tensor, and the time of its moves.
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "layrub/placement/cost/layer_costs.hpp"
#include "layrub/placement/cost/timeline.hpp"
#include "layrub/placement/test/hand_made.hpp"
#include "layrub/placement/test/plan_writer.hpp"

namespace layrub::placement {
namespace {

using testing::HandMade;
using testing::PlanWriter;
using testing::Uses;

constexpr int64_t kUnit = kAlignment;

/// One FLOP/s, one byte/s of the link, four of the memory, and a latency of ten seconds.
Machine Slow() { return {"slow", 1, 4, 1, 1, 2, 10}; }

/// x (four units) is written, and read in the backward pass. y (six units), written and read in
/// between, takes its place except for one unit, which is moved.
class PartCosts : public ::testing::Test {
 protected:
  PartCosts() {
    HandMade net;
    const TensorId x = net.Add("x", 4), y = net.Add("y", 6);
    net.Forward("x/forward", Uses({}, {x}));
    net.Forward("y/forward", Uses({}, {y}));
    net.Backward("y/backward", Uses({y}, {}));
    net.Backward("x/backward", Uses({x}, {}));
    graph_ = net.graph;
    PlanWriter p(graph_, 7 * kUnit, 3 * kUnit);
    p.Alloc("x", 0);
    const int32_t made = p.Run("x/forward");
    p.Alloc("x", 0, Tier::kHost);
    p.Wait(Lane::kSave, made);
    const int32_t saved = p.Offload("x", kUnit, 3 * kUnit);
    p.Keep("x", kUnit);
    p.Wait(Lane::kCompute, saved);
    away_ = p.Move("x", 6 * kUnit, kUnit);
    p.Alloc("y", 0);
    p.Run("y/forward");
    p.EndPass(Pass::kForward);
    p.Run("y/backward");
    p.Free("y");
    back_ = p.Move("x", 0, kUnit);
    p.Alloc("x", 0, Tier::kDevice, kUnit);
    p.Wait(Lane::kLoad, back_);
    const int32_t fetched = p.Prefetch("x", kUnit, 3 * kUnit);
    p.Wait(Lane::kCompute, fetched);
    p.Run("x/backward");
    p.Free("x");
    p.Free("x", Tier::kHost);
    p.EndPass(Pass::kBackward);
    plan_ = p.plan;
  }

  Graph graph_;
  Plan plan_;
  int32_t away_ = kNone, back_ = kNone;  ///< moves of the part
};

TEST_F(PartCosts, CountThePartsOwnBytes) {
  const Peak peak = FindPeak(graph_, plan_);
  EXPECT_EQ(graph_.ops[peak.op].name, "y/forward");
  EXPECT_EQ(peak.bytes, 7 * kUnit);
  EXPECT_EQ(peak.by_role[static_cast<size_t>(Role::kActivation)], 7 * kUnit);
  EXPECT_EQ(peak.unused, 0);
}

TEST_F(PartCosts, CountAGrownPartOnce) {
  graph_.tensors[1].bytes = kUnit;
  for (Step& step : plan_.steps) {
    if (step.tensor == 1) step.end = kUnit;
  }
  const Peak peak = FindPeak(graph_, plan_);
  EXPECT_EQ(graph_.ops[peak.op].name, "x/forward");
  EXPECT_EQ(peak.bytes, 4 * kUnit) << "neither more than once nor less";
  plan_.steps.push_back({.kind = StepKind::kAlloc, .tensor = 0, .end = 4 * kUnit});
  plan_.steps.push_back({.kind = StepKind::kRun, .op = 0});
  EXPECT_EQ(FindPeak(graph_, plan_).bytes, 4 * kUnit) << "all of it has been freed";
}

TEST_F(PartCosts, TimeMovesAndCopiesByTheirBytes) {
  const Timeline timeline = Simulate(graph_, plan_, Slow());
  int moves = 0, copies = 0;
  for (const Span& span : timeline.spans) {
    const Step& step = plan_.steps[span.step];
    if (IsMove(step)) {
      EXPECT_EQ(span.lane, Lane::kCompute);
      EXPECT_EQ(step.end - step.begin, kUnit);
      EXPECT_DOUBLE_EQ(span.end - span.begin, 2 * kUnit / 4.0 + 10);
      ++moves;
    } else if (span.lane != Lane::kCompute) {
      EXPECT_DOUBLE_EQ(span.end - span.begin, 3 * kUnit + 10.0);
      ++copies;
    }
  }
  EXPECT_EQ(moves, 2);
  EXPECT_EQ(copies, 2);
}

TEST_F(PartCosts, MeasureMovesFromThePartsOffset) {
  const std::vector<int64_t> distances = MoveDistances(graph_, plan_);
  EXPECT_EQ(distances[away_], 6 * kUnit);
  EXPECT_EQ(distances[back_], 6 * kUnit);
}

TEST_F(PartCosts, DivideATensorIntoKeptAndOffloadedBytes) {
  const Timeline timeline = Simulate(graph_, plan_, Slow());
  const std::vector<LayerCost> costs = LayerCosts(graph_, plan_, timeline);
  ASSERT_EQ(costs.size(), 2u);
  EXPECT_EQ(costs[0].kept, kUnit);
  EXPECT_EQ(costs[0].offloaded, 3 * kUnit);
  EXPECT_EQ(costs[0].traffic, 6 * kUnit);
  EXPECT_EQ(costs[0].recomputed, 0);
  EXPECT_EQ(costs[1].kept, 6 * kUnit);
  plan_.pass_end[0] = static_cast<int32_t>(plan_.steps.size()) - 3;
  EXPECT_EQ(LayerCosts(graph_, plan_, timeline)[0].kept, 4 * kUnit) << "it is back";
}

}  // namespace
}  // namespace layrub::placement
