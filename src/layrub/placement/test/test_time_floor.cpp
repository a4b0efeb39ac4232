#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "layrub/placement/test/hand_made.hpp"
#include "layrub/placement/test/random_decision.hpp"
#include "layrub/placement/test/random_graph.hpp"
#include "layrub/placement/uses.hpp"
#include "layrub/strategy.hpp"
#include "layrub/timeline.hpp"

namespace layrub {
namespace {

using testing::HandMade;
using testing::LinkMachine;
using testing::Uses;

constexpr double kSecond = 1;
constexpr int64_t kUnit = kAlignment;

/// x -> y, each in 8 parts of a unit and needed by backward; each pass over a tensor takes a
/// second, y's forward `again`.
class Pair : public HandMade {
 public:
  explicit Pair(double again, bool repeatable = true) {
    std::vector<TensorId> x, y;
    for (int i = 0; i < kParts; ++i) {
      x.push_back(Add("x" + std::to_string(i), 1));
      AddOp(Pass::kForward, "x", Uses({}, {x[i]}), kSecond, false);
    }
    for (int i = 0; i < kParts; ++i) {
      y.push_back(Add("y" + std::to_string(i), 1));
      AddOp(Pass::kForward, "y", Uses({x[i]}, {y[i]}), again, repeatable);
    }
    for (const auto& tensors : {y, x}) {
      for (const TensorId t : tensors) AddOp(Pass::kBackward, "", Uses({t}, {}), kSecond, false);
    }
  }

 protected:
  static constexpr int kParts = 8;
  Pair() = default;
  void AddOp(Pass pass, const std::string& name, const Form& form, double seconds,
             bool repeatable) {
    const std::string unique = name + std::to_string(graph.ops.size());
    if (pass == Pass::kForward) {
      Forward(unique, form);
    } else {
      Backward(unique, form);
    }
    graph.ops.back().forms[0].flops = seconds / kParts;
    graph.ops.back().repeatable = repeatable;
  }
};

TEST(TimeFloor, IsTheOperationsAloneWhereAllFits) {
  EXPECT_DOUBLE_EQ(TimeFloor(Pair(2).graph, LinkMachine(1), 16 * kUnit), 5);
}

TEST(TimeFloor, MovesBesideTheOperations) {
  // 8 units at 4 a second: 2 of the 3 seconds of forward and all of backward.
  EXPECT_DOUBLE_EQ(TimeFloor(Pair(2, false).graph, LinkMachine(4), 8 * kUnit), 5);
  // At 2 a second: 4 in each pass.
  EXPECT_DOUBLE_EQ(TimeFloor(Pair(2, false).graph, LinkMachine(2), 8 * kUnit), 8);
}

TEST(TimeFloor, ComputesAgainWhatTakesLessThanItsWayAndBack) {
  // Two units beside those of x, which stay.
  EXPECT_NEAR(TimeFloor(Pair(2).graph, LinkMachine(1e-6), 10 * kUnit), 5 + 2 * 0.75, 1e-5);
  // A part of it: what is moved while backward computes costs nothing there.
  const double seconds = TimeFloor(Pair(2).graph, LinkMachine(2), 8 * kUnit);
  EXPECT_LT(seconds, 7);
  EXPECT_GT(seconds, 5);
}

TEST(TimeFloor, CountsTheChainThatLeadsToWhatIsNeeded) {
  // x is needed; m, between x and y, is not: to make y again m has to be made.
  class Chain : public Pair {
   public:
    Chain() {
      std::vector<TensorId> x, y;
      for (int i = 0; i < kParts; ++i) {
        x.push_back(Add("x" + std::to_string(i), 1));
        y.push_back(Add("y" + std::to_string(i), 1));
        const TensorId m = Add("m" + std::to_string(i), 1);
        AddOp(Pass::kForward, "x", Uses({}, {x[i]}), kSecond, false);
        AddOp(Pass::kForward, "m", Uses({x[i]}, {m}), kSecond, true);
        AddOp(Pass::kForward, "y", Uses({m}, {y[i]}), kSecond, true);
      }
      for (const auto& tensors : {y, x}) {
        for (const TensorId t : tensors) AddOp(Pass::kBackward, "", Uses({t}, {}), kSecond, false);
      }
    }
  };
  EXPECT_NEAR(TimeFloor(Chain().graph, LinkMachine(1e-6), 10 * kUnit), 5 + 2 * 0.75, 1e-5);
}

/// g is made first and read last; the operation between needs two other tensors. Each has 8 units.
class Shortcut : public HandMade {
 public:
  Shortcut() {
    const TensorId g = Add("g", 8), h = Add("h", 8), k = Add("k", 8);
    Backward("sum/backward", Uses({}, {g, h}));
    Backward("branch/backward", Uses({h}, {k}));
    Backward("split/backward", Uses({g, k}, {}));
    for (Op& op : graph.ops) op.forms[0].flops = kSecond;
  }
};

TEST(TimeFloor, KnowsWhatHasToLeaveAndComeBackAroundATightOperation) {
  const Graph graph = Shortcut().graph;
  // At one unit a second: 8 s down before the branch and 8 s up after it.
  EXPECT_DOUBLE_EQ(TimeFloor(graph, LinkMachine(1), 16 * kUnit), 3 + 2 * 8);
  EXPECT_DOUBLE_EQ(TimeFloor(graph, LinkMachine(1), 24 * kUnit), 3);
  const Decision tight =
      FindStrategy("auto").value()(graph, LinkMachine(1), {.device = 16 * kUnit}).value();
  const Plan plan = Schedule(graph, tight).value();
  EXPECT_EQ(plan.device_bytes, 16 * kUnit);
  EXPECT_DOUBLE_EQ(Simulate(graph, plan, LinkMachine(1)).seconds, 3 + 2 * 8);
}

TEST(TimeFloor, MakesAgainAroundATightOperationWhatTakesLess) {
  HandMade net;
  const TensorId g = net.Add("g", 8), h = net.Add("h", 8), k = net.Add("k", 8);
  net.Forward("g/forward", Uses({}, {g}));
  net.Forward("h/forward", Uses({}, {h}));
  net.Backward("branch/backward", Uses({h}, {k}));
  net.Backward("split/backward", Uses({g, k}, {}));
  for (Op& op : net.graph.ops) op.forms[0].flops = kSecond;
  net.graph.ops[0].repeatable = true;
  EXPECT_NEAR(TimeFloor(net.graph, LinkMachine(1e-6), 16 * kUnit), 4 + 1, 1e-5);
}

TEST(TimeFloor, NeverGrowsWithTheBudget) {
  for (uint64_t seed = 0; seed < 50; ++seed) {
    const Graph graph = testing::RandomGraph(seed, 12);
    double before = TimeFloor(graph, LinkMachine(1), 0);
    for (int64_t budget = 0; budget < 100'000; budget += 5'000) {
      const double now = TimeFloor(graph, LinkMachine(1), budget);
      EXPECT_LE(now, before) << seed;
      before = now;
    }
  }
}

TEST(TimeFloor, IsNeverAboveWhatAPlanTakes) {
  for (uint64_t seed = 0; seed < 100; ++seed) {
    const Graph graph = testing::RandomGraph(seed, 12);
    for (const Machine& machine : {LinkMachine(0.01), LinkMachine(1), FindMachine("k40").value()}) {
      for (const std::string& strategy : StrategyNames()) {
        const Decision loose = FindStrategy(strategy).value()(graph, machine, {}).value();
        const Decision tight =
            FindStrategy(strategy).value()(graph, machine, {.device = 0}).value();
        for (const Decision& decision : {loose, tight}) {
          const Plan plan = Schedule(graph, decision).value();
          EXPECT_LE(TimeFloor(graph, machine, plan.device_bytes),
                    Simulate(graph, plan, machine).seconds * (1 + 1e-9))
              << seed << " " << strategy << " " << machine.name;
        }
      }
    }
  }
}

TEST(TimeFloor, IsNeverAboveWhatARandomDecisionTakes) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    const Graph graph = testing::RandomGraph(seed, 12);
    const Plan plan = Schedule(graph, testing::RandomDecision(graph, seed, false)).value();
    for (const Machine& machine :
         {LinkMachine(0.01), LinkMachine(1), FindMachine("h200").value()}) {
      EXPECT_LE(TimeFloor(graph, machine, plan.device_bytes),
                Simulate(graph, plan, machine).seconds * (1 + 1e-9))
          << seed << " " << machine.name;
    }
  }
}

}  // namespace
}  // namespace layrub
