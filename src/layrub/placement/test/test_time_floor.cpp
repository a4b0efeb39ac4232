#include <gtest/gtest.h>

#include <string>

#include "layrub/placement/test/hand_made.hpp"
#include "layrub/placement/test/random_graph.hpp"
#include "layrub/placement/uses.hpp"
#include "layrub/strategy.hpp"
#include "layrub/timeline.hpp"

namespace layrub {
namespace {

using testing::HandMade;
using testing::Uses;

constexpr double kSecond = 1;
constexpr int64_t kUnit = kAlignment;

/// One FLOP and `units` units a second over the link.
Machine Link(double units) {
  const double rate = units * static_cast<double>(kUnit);
  return {"link", 1, 1e12, rate, rate, 2 * rate, 0};
}

/// x -> y, each 8 units and needed by backward; operations take a second, y's forward `again`.
class Pair : public HandMade {
 public:
  explicit Pair(double again, bool repeatable = true) {
    const TensorId x = Add("x", 8), y = Add("y", 8);
    Forward("x/forward", Uses({}, {x}));
    Forward("y/forward", Uses({x}, {y}));
    Backward("y/backward", Uses({y}, {}));
    Backward("x/backward", Uses({x}, {}));
    for (Op& op : graph.ops) op.forms[0].flops = kSecond;
    graph.ops[1].forms[0].flops = again;
    graph.ops[1].repeatable = repeatable;
  }
};

TEST(TimeFloor, IsTheOperationsAloneWhereAllFits) {
  EXPECT_DOUBLE_EQ(TimeFloor(Pair(2).graph, Link(1), 16 * kUnit), 5);
}

TEST(TimeFloor, MovesBesideTheOperations) {
  // 8 units at 4 a second: 2 of the 3 seconds of forward and all of backward.
  EXPECT_DOUBLE_EQ(TimeFloor(Pair(2, false).graph, Link(4), 8 * kUnit), 5);
  // At 2 a second: 4 in each pass.
  EXPECT_DOUBLE_EQ(TimeFloor(Pair(2, false).graph, Link(2), 8 * kUnit), 8);
}

TEST(TimeFloor, ComputesAgainWhatTakesLessThanItsWayAndBack) {
  EXPECT_NEAR(TimeFloor(Pair(2).graph, Link(1e-6), 8 * kUnit), 7, 1e-5);
  // A part of it: what is moved while backward computes costs nothing there.
  const double seconds = TimeFloor(Pair(2).graph, Link(2), 8 * kUnit);
  EXPECT_LT(seconds, 7);
  EXPECT_GT(seconds, 5);
}

TEST(TimeFloor, CountsTheChainThatLeadsToWhatIsNeeded) {
  // x is needed; m, between x and y, is not: to make y again m has to be made.
  HandMade net;
  const TensorId x = net.Add("x", 8), m = net.Add("m", 8), y = net.Add("y", 8);
  net.Forward("x/forward", Uses({}, {x}));
  net.Forward("m/forward", Uses({x}, {m}));
  net.Forward("y/forward", Uses({m}, {y}));
  net.Backward("y/backward", Uses({y}, {}));
  net.Backward("x/backward", Uses({x}, {}));
  for (Op& op : net.graph.ops) op.forms[0].flops = kSecond;
  net.graph.ops[1].repeatable = net.graph.ops[2].repeatable = true;
  EXPECT_NEAR(TimeFloor(net.graph, Link(1e-6), 8 * kUnit), 5 + 2, 1e-5);
}

TEST(TimeFloor, NeverGrowsWithTheBudget) {
  for (uint64_t seed = 0; seed < 50; ++seed) {
    const Graph graph = testing::RandomGraph(seed, 12);
    double before = TimeFloor(graph, Link(1), 0);
    for (int64_t budget = 0; budget < 100'000; budget += 5'000) {
      const double now = TimeFloor(graph, Link(1), budget);
      EXPECT_LE(now, before) << seed;
      before = now;
    }
  }
}

TEST(TimeFloor, IsNeverAboveWhatAPlanTakes) {
  for (uint64_t seed = 0; seed < 100; ++seed) {
    const Graph graph = testing::RandomGraph(seed, 12);
    for (const Machine& machine : {Link(0.01), Link(1), FindMachine("k40").value()}) {
      for (const std::string& strategy : StrategyNames()) {
        const Plan plan = MakePlan(graph, machine, {}, strategy).value();
        EXPECT_LE(TimeFloor(graph, machine, plan.device_bytes),
                  Simulate(graph, plan, machine).seconds * (1 + 1e-9))
            << seed << " " << strategy << " " << machine.name;
      }
    }
  }
}

}  // namespace
}  // namespace layrub
