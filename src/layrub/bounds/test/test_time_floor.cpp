#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <string>
#include <vector>

#include "layrub/placement/check/check.hpp"
#include "layrub/placement/cost/shared_link.hpp"
#include "layrub/placement/cost/timeline.hpp"
#include "layrub/placement/ir/program.hpp"
#include "layrub/placement/ir/uses.hpp"
#include "layrub/placement/schedule/schedule.hpp"
#include "layrub/placement/strategies/strategies.hpp"
#include "layrub/placement/strategies/strategy.hpp"
#include "layrub/placement/test/hand_made.hpp"
#include "layrub/placement/test/random_graph.hpp"
#include "layrub/placement/test/random_program.hpp"

namespace layrub {
namespace {

using testing::HandMade;
using testing::LinkMachine;
using testing::Uses;

constexpr double kSecond = 1;
constexpr int64_t kUnit = kAlignment;

/// x and y, which is computed from x, each in 8 parts of a unit, and all needed by backward. Each
/// pass over a tensor takes a second, but the forward of y takes `again`.
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
  void AddOp(Pass pass, const std::string& name, const Variant& variant, double seconds,
             bool repeatable) {
    const std::string unique = name + std::to_string(graph.ops.size());
    if (pass == Pass::kForward) {
      Forward(unique, variant);
    } else {
      Backward(unique, variant);
    }
    graph.ops.back().variants[0].flops = seconds / kParts;
    graph.ops.back().repeatable = repeatable;
  }
};

TEST(TimeFloor, IsTheTimeOfTheOperationsIfEverythingFits) {
  EXPECT_DOUBLE_EQ(TimeFloor(Pair(2).graph, LinkMachine(1), 16 * kUnit), 5);
}

TEST(TimeFloor, OverlapsCopiesWithOperations) {
  // 8 units at 4 a second fit beside the 3 seconds of forward and exactly into the 2 of backward.
  EXPECT_DOUBLE_EQ(TimeFloor(Pair(2, false).graph, LinkMachine(4), 8 * kUnit), 5);
  // At 2 a second they take 4 seconds in each pass.
  EXPECT_DOUBLE_EQ(TimeFloor(Pair(2, false).graph, LinkMachine(2), 8 * kUnit), 8);
}

TEST(TimeFloor, RecomputesWhatTakesLessThanItsCopies) {
  // x stays, and 2 of the 8 units of y.
  EXPECT_NEAR(TimeFloor(Pair(2).graph, LinkMachine(1e-6), 10 * kUnit), 5 + 2 * 0.75, 1e-5);
  // Recomputes a part of it: what moves while backward computes costs nothing there.
  const double seconds = TimeFloor(Pair(2).graph, LinkMachine(2), 8 * kUnit);
  EXPECT_LT(seconds, 7);
  EXPECT_GT(seconds, 5);
}

TEST(TimeFloor, CountsTheChainOfARecomputation) {
  // x is needed; m, between x and y, is not. To recompute y, m has to be recomputed.
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

TEST(TimeFloor, RecomputesASharedInputOnlyOnce) {
  // m takes 8 s and is not needed itself; each of the 8 y is computed from it in a second. If m is
  // kept, or recomputed once, all y can be computed from it.
  HandMade net;
  const TensorId m = net.Add("m", 1);
  net.Forward("m/forward", Uses({}, {m}));
  net.graph.ops[0].variants[0].flops = 8;
  std::vector<TensorId> made;
  for (int i = 0; i < 8; ++i) {
    made.push_back(net.Add("y" + std::to_string(i), 1));
    net.Forward("y" + std::to_string(i) + "/forward", Uses({m}, {made.back()}));
    net.graph.ops.back().variants[0].flops = kSecond;
  }
  for (Op& op : net.graph.ops) op.repeatable = true;
  for (const TensorId y : made) net.Backward("y" + std::to_string(y) + "/backward", Uses({y}, {}));
  const double pass = 8 + 8;
  EXPECT_NEAR(TimeFloor(net.graph, LinkMachine(1e-6), 1 * kUnit), pass + 7 + 1, 1e-3);
  EXPECT_NEAR(TimeFloor(net.graph, LinkMachine(1e-6), 0), pass + 8 + 8, 1e-3);
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

TEST(TimeFloor, IsNeverAboveThePlanOfAStrategy) {
  for (uint64_t seed = 0; seed < 100; ++seed) {
    const Graph graph = testing::RandomGraph(seed, 12);
    for (const Machine& machine : {LinkMachine(0.01), LinkMachine(1), FindMachine("k40").value()}) {
      for (const std::string& strategy : StrategyNames()) {
        const placement::schedule::Choice loose =
            placement::strategies::FindStrategy(strategy).value()(graph, machine, {}).value();
        const placement::schedule::Choice tight = placement::strategies::FindStrategy(strategy)
                                                      .value()(graph, machine, {.device = 0})
                                                      .value();
        for (const placement::schedule::Choice& choice : {loose, tight}) {
          const Plan plan =
              placement::schedule::Schedule(graph, choice.program, choice.options).value();
          EXPECT_LE(TimeFloor(graph, machine, plan.device_bytes),
                    Simulate(graph, plan, machine).seconds * (1 + 1e-9))
              << seed << " " << strategy << " " << machine.name;
        }
      }
    }
  }
}

TEST(TimeFloor, IsNeverAboveThePlanOfARandomProgram) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    const Graph graph = testing::RandomGraph(seed, 12);
    const Plan plan =
        placement::schedule::Schedule(graph, testing::RandomProgram(graph, seed, false),
                                      testing::RandomPacking(seed))
            .value();
    for (const Machine& machine :
         {LinkMachine(0.01), LinkMachine(1), FindMachine("h200").value()}) {
      EXPECT_LE(TimeFloor(graph, OffloadRates(machine, kUnlimitedBudget), plan.device_bytes),
                Simulate(graph, plan, machine).seconds * (1 + 1e-9))
          << seed << " " << machine.name;
    }
  }
}

/// Links on which copies take hardly any time, about what operations take, or much more.
std::vector<Machine> LinksOfAllSpeeds() {
  std::vector<Machine> machines;
  for (const double units : {1e-4, 1e-2, 1.0}) {
    machines.push_back(LinkMachine(units));
    machines.back().flops = 1e3;
    machines.back().link_both = 1.2 * machines.back().link_up;
  }
  return machines;
}

TEST(TimeFloor, IsNeverAboveATightPlan) {
  const auto check = [](const Graph& graph, const Plan& plan, const Budget& budget) {
    for (const Machine& machine : LinksOfAllSpeeds()) {
      const double seconds = Simulate(graph, plan, machine).seconds * (1 + 1e-9);
      const Machine offload = OffloadRates(machine, budget);
      RC_ASSERT(TimeFloor(graph, offload, plan.device_bytes) <= seconds);
      RC_ASSERT(TimeFloor(graph, offload, plan.device_bytes * 21 / 20) <= seconds);
    }
  };
  EXPECT_TRUE(rc::check("a random program, packed into its peak", [&](uint32_t seed) {
    const Graph graph = testing::RandomGraph(seed, *rc::gen::inRange(3, 14));
    const placement::Program program = testing::RandomProgram(graph, seed, false);
    const placement::pack::Options packing =
        testing::IntoPeak(graph, program, testing::RandomPacking(seed));
    check(graph, placement::schedule::Schedule(graph, program, packing).value(), kUnlimitedBudget);
  }));
  EXPECT_TRUE(rc::check("auto near the floor", [&](uint32_t seed) {
    const Graph graph = testing::RandomGraph(seed, *rc::gen::inRange(3, 9));
    const int64_t budget = FloorBytes(graph) * *rc::gen::inRange(100, 130) / 100;
    const Machine machine = *rc::gen::elementOf(LinksOfAllSpeeds());
    const placement::schedule::Choice choice = placement::strategies::FindStrategy("auto")
                                                   .value()(graph, machine, {.device = budget})
                                                   .value();
    check(graph, placement::schedule::Schedule(graph, choice.program, choice.options).value(), {});
  }));
}

}  // namespace
}  // namespace layrub
