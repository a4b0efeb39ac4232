// Every strategy on random graphs under random budgets: the result is a correct plan, or a clear
// "does not fit".
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "layrub/placement/check/check.hpp"
#include "layrub/placement/cost/floor.hpp"
#include "layrub/placement/ir/program.hpp"
#include "layrub/placement/schedule/schedule.hpp"
#include "layrub/placement/strategies/strategy.hpp"
#include "layrub/placement/test/random_graph.hpp"
#include "layrub/placement/test/random_program.hpp"
#include "layrub/placement/test/replay.hpp"
#include "layrub/placement/test/strategy_kinds.hpp"

namespace layrub::placement {
namespace {

using testing::ArbitraryGraph;
using testing::RandomGraph;
using testing::RandomProgram;
using testing::Replay;
using testing::SmallestBudget;

std::string Join(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  return text;
}

/// Runs `property` for several hundred random graphs with every strategy, with budgets from the
/// smallest one to what the strategy takes without a limit. On failure rapidcheck prints the seed;
/// the graph is printed as text.
template <typename Property>
void ForRandomPlans(Property property) {
  for (const std::string& strategy : StrategyNames()) {
    const bool holds = rc::check(strategy, [&] {
      const Graph graph = *ArbitraryGraph();
      Result<Plan> plan = MakePlan(graph, Machine{}, Budget{}, strategy);
      if (plan.ok() && testing::Adapts(strategy)) {
        const int64_t smallest = SmallestBudget(graph, strategy);
        const int64_t more =
            *rc::gen::inRange<int64_t>(0, plan.value().device_bytes - smallest + 1);
        plan = MakePlan(graph, Machine{}, {.device = smallest + more}, strategy);
      }
      if (!plan.ok()) RC_FAIL(plan.status().message + "\n" + ToText(graph));
      property(graph, strategy, plan.value());
    });
    EXPECT_TRUE(holds) << strategy;
  }
}

TEST(RandomGraph, IsValidAndTheSameForTheSameSeed) {
  for (uint64_t seed = 0; seed < 500; ++seed) {
    const Graph graph = RandomGraph(seed, static_cast<int>(seed % 60));
    const Status status = Validate(graph);
    ASSERT_TRUE(status.ok()) << "seed " << seed << ": " << status.message;
    ASSERT_EQ(graph, RandomGraph(seed, static_cast<int>(seed % 60)));
  }
}

TEST(RandomGraph, CoversAllFeaturesOfGraphs) {
  int fills = 0, views = 0, choices = 0, empty = 0, versions = 0, aliases = 0, changed = 0,
      algorithm = 0;
  for (uint64_t seed = 0; seed < 100; ++seed) {
    const Graph graph = RandomGraph(seed, 30);
    std::map<int32_t, int> in_blob;
    for (const Tensor& tensor : graph.tensors) {
      empty += tensor.bytes == 0;
      if (tensor.blob != kNone) versions += in_blob[tensor.blob]++ > 0;
    }
    for (const Op& op : graph.ops) {
      fills += op.kind == OpKind::kFill;
      choices += op.variants.size() > 1;
      const Variant& variant = op.variants[0];
      views += variant.reads.empty() && variant.writes.empty();
      aliases += !variant.may_alias.empty();
      algorithm += variant.algorithms.size() > 1;
      for (TensorId id : variant.writes) {
        for (TensorId read : variant.reads) changed += id == read && !graph.tensors[id].is_state();
      }
    }
  }
  for (int count : {fills, views, choices, empty, versions, aliases, changed, algorithm})
    EXPECT_GT(count, 50);
}

TEST(RandomPlans, PassTheCheck) {
  ForRandomPlans([](const Graph& graph, const std::string&, const Plan& plan) {
    const std::vector<std::string> objections = Check(graph, plan);
    if (!objections.empty()) RC_FAIL(Join(objections) + ToText(graph) + ToText(plan, graph));
  });
}

TEST(RandomPlans, GiveTheRightValuesInAnyOrderOfTheLanes) {
  ForRandomPlans([](const Graph& graph, const std::string&, const Plan& plan) {
    const auto seed = *rc::gen::arbitrary<uint32_t>();
    RC_ASSERT(Replay(graph, plan, seed) == "");
  });
}

TEST(RandomPlans, NeverTakeLessThanTheFloor) {
  ForRandomPlans([](const Graph& graph, const std::string&, const Plan& plan) {
    RC_ASSERT(FloorBytes(graph) >= StateBytes(graph));
    RC_ASSERT(StateFloorBytes(graph) <= FloorBytes(graph));
    cost::Homes homes = cost::AllOnDevice(graph);
    for (const Home& home : plan.homes) {
      const bool accessible = graph.tensors[home.tensor].host_access && home.tier == Tier::kHost;
      homes[home.tensor] = home.tier == Tier::kDevice ? StateHome::kDevice
                           : accessible               ? StateHome::kInPlace
                                                      : StateHome::kAway;
    }
    RC_ASSERT(plan.device_bytes >= cost::FloorBytes(graph, homes));
    RC_ASSERT(plan.device_bytes >= StateFloorBytes(graph));
  });
}

TEST(RandomPlans, FitTheBudgetOrReportThatTheyDoNot) {
  ForRandomPlans([](const Graph& graph, const std::string& strategy, const Plan&) {
    const Plan unlimited = MakePlan(graph, Machine{}, Budget{}, strategy).value();
    const Budget budget{*rc::gen::inRange<int64_t>(0, 2 * unlimited.device_bytes + 1),
                        *rc::gen::inRange<int64_t>(0, 2 * unlimited.host_bytes + 1)};
    const Result<Plan> plan = MakePlan(graph, Machine{}, budget, strategy);
    if (plan.ok()) {
      RC_ASSERT(plan.value().device_bytes <= budget.device);
      RC_ASSERT(plan.value().host_bytes <= budget.host);
      RC_ASSERT(Join(Check(graph, plan.value(), budget)) == "");
    } else {
      RC_ASSERT(plan.status().code == Code::kDoesNotFit);
      RC_ASSERT(!plan.status().message.empty());
      RC_ASSERT(budget.device < unlimited.device_bytes || budget.host < unlimited.host_bytes);
    }
  });
}

TEST(RandomPlans, FitEveryBudgetFromTheReportedSmallestUp) {
  ForRandomPlans([](const Graph& graph, const std::string& strategy, const Plan&) {
    const int64_t smallest = SmallestBudget(graph, strategy);
    const int64_t more = *rc::gen::inRange<int64_t>(0, smallest + 1);
    for (int64_t device : {smallest, smallest + more}) {
      const Budget budget{.device = device};
      const Result<Plan> plan = MakePlan(graph, Machine{}, budget, strategy);
      if (!plan.ok()) RC_FAIL(plan.status().message);
      RC_ASSERT(Join(Check(graph, plan.value(), budget)) == "");
    }
    if (UsesCosts(strategy)) return;  // a search within a budget may find a little more
    RC_ASSERT(!MakePlan(graph, Machine{}, {.device = smallest - 1}, strategy).ok());
  });
}

TEST(RandomPlans, PassTheCheckForRandomPrograms) {
  int again = 0, copied_and_dropped = 0;
  for (uint64_t seed = 0; seed < 300; ++seed) {
    const Graph graph = RandomGraph(seed, static_cast<int>(seed % 40));
    const Program program = RandomProgram(graph, seed, /*reckless=*/false);
    const Result<Plan> plan = schedule::Schedule(graph, program, testing::RandomPacking(seed));
    ASSERT_TRUE(plan.ok()) << "seed " << seed << ": " << plan.status().message;
    ASSERT_EQ(Join(Check(graph, plan.value())), "") << "seed " << seed;
    ASSERT_EQ(Replay(graph, plan.value(), seed), "") << "seed " << seed;
    again += testing::Recomputed(plan.value());
    for (const TensorProgram& tensor : program.tensors) {
      const auto dropped = std::count_if(tensor.evictions.begin(), tensor.evictions.end(),
                                         [](const Eviction& eviction) { return eviction.dropped; });
      const auto copied = static_cast<int64_t>(tensor.evictions.size()) - dropped;
      copied_and_dropped += dropped > 0 && copied > 0;
    }
  }
  EXPECT_GT(again, 1000);
  EXPECT_GT(copied_and_dropped, 100);
}

TEST(RandomPlans, PassTheCheckWithMovesAndFitIntoTheirPeak) {
  int64_t moves = 0;
  int at_the_peak = 0, above = 0;
  for (uint64_t seed = 0; seed < 60; ++seed) {
    const Graph graph = RandomGraph(seed, static_cast<int>(5 * seed));
    const Program program = RandomProgram(graph, seed, /*reckless=*/false);
    const pack::Options packing = testing::IntoPeak(graph, program, testing::RandomPacking(seed));
    const Result<Plan> plan = schedule::Schedule(graph, program, packing);
    ASSERT_TRUE(plan.ok()) << "seed " << seed << ": " << plan.status().message;
    ASSERT_EQ(Join(Check(graph, plan.value())), "") << "seed " << seed;
    ASSERT_EQ(Replay(graph, plan.value(), seed), "") << "seed " << seed;
    const Result<Plan> read = PlanFromText(ToText(plan.value(), graph), graph);
    ASSERT_TRUE(read.ok()) << read.status().message;
    ASSERT_EQ(read.value(), plan.value());
    moves += testing::MovesIn(plan.value());
    (plan.value().device_bytes <= packing.enough_bytes ? at_the_peak : above) += 1;
  }
  EXPECT_GT(moves, 10);
  EXPECT_GT(at_the_peak, above);
}

TEST(RandomPlans, PassTheCheckOrAreRefusedForRecklessPrograms) {
  int refused = 0;
  for (uint64_t seed = 0; seed < 300; ++seed) {
    const Graph graph = RandomGraph(seed, static_cast<int>(seed % 40));
    const Result<Plan> plan = schedule::Schedule(
        graph, RandomProgram(graph, seed, /*reckless=*/true), testing::RandomPacking(seed));
    if (plan.ok()) {
      ASSERT_EQ(Join(Check(graph, plan.value())), "") << "seed " << seed;
    } else {
      ++refused;
      ASSERT_EQ(plan.status().code, Code::kInvalid);
      ASSERT_NE(plan.status().message, "");
    }
  }
  EXPECT_GT(refused, 0);
  EXPECT_LT(refused, 300);
}

TEST(RandomPlans, FollowTheirStrategy) {
  for (const std::string& strategy : StrategyNames()) {
    int64_t moved = 0, device = 0, keep = 0;
    int again = 0;
    for (uint64_t seed = 0; seed < 100; ++seed) {
      const Graph graph = RandomGraph(seed, 40);
      const Result<Plan> plan = MakePlan(graph, Machine{}, Budget{}, strategy);
      ASSERT_TRUE(plan.ok()) << plan.status().message;
      moved += testing::BytesOffloaded(graph, plan.value());
      again += testing::Recomputed(plan.value());
      device += plan.value().device_bytes;
      keep += MakePlan(graph, Machine{}, Budget{}, "keep").value().device_bytes;
    }
    EXPECT_EQ(moved > 0, testing::Moves(strategy)) << strategy;
    EXPECT_EQ(again > 0, testing::Recomputes(strategy)) << strategy;
    EXPECT_EQ(device < keep, !KeepsWhatFits(strategy)) << strategy;
  }
}

TEST(RandomPlans, AdaptToSmallerBudgets) {
  for (const std::string& strategy : StrategyNames()) {
    if (!testing::Adapts(strategy)) continue;
    int64_t moved = 0, free = 0, tight = 0;
    for (uint64_t seed = 0; seed < 20; ++seed) {
      const Graph graph = RandomGraph(seed, 40);
      const Plan plan = testing::PlanTightly(graph, strategy);
      moved += testing::BytesOffloaded(graph, plan);
      tight += plan.device_bytes;
      free += MakePlan(graph, Machine{}, Budget{}, strategy).value().device_bytes;
    }
    EXPECT_GT(moved, 0) << strategy;
    EXPECT_LT(tight, free) << strategy;
  }
}

TEST(RandomPlans, PassTheCheckWithPadding) {
  for (const std::string& strategy : StrategyNames()) {
    for (uint64_t seed = 0; seed < 100; ++seed) {
      const Graph graph = RandomGraph(seed, 25);
      const Result<Plan> plan = MakePlan(graph, Machine{}, Budget{}, strategy, kAlignment);
      ASSERT_TRUE(plan.ok()) << plan.status().message;
      ASSERT_EQ(Join(Check(graph, plan.value())), "") << strategy << ", seed " << seed;
    }
  }
}

TEST(RandomPlans, AreReadBackFromTheirText) {
  ForRandomPlans([](const Graph& graph, const std::string&, const Plan& plan) {
    const Result<Graph> graph_again = GraphFromText(ToText(graph));
    RC_ASSERT(graph_again.ok());
    RC_ASSERT(graph_again.value() == graph);
    const Result<Plan> plan_again = PlanFromText(ToText(plan, graph), graph);
    RC_ASSERT(plan_again.ok());
    RC_ASSERT(plan_again.value() == plan);
  });
}

}  // namespace
}  // namespace layrub::placement
