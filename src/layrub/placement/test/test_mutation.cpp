// Mutates plans in every way that must matter, and expects Check to object each time. This finds a
// Check that overlooks something and a scheduler that emits needless steps.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "layrub/placement/check/check.hpp"
#include "layrub/placement/ir/program.hpp"
#include "layrub/placement/ir/uses.hpp"
#include "layrub/placement/policies/recompute.hpp"
#include "layrub/placement/schedule/schedule.hpp"
#include "layrub/placement/strategies/strategy.hpp"
#include "layrub/placement/test/hand_made.hpp"
#include "layrub/placement/test/mutate.hpp"
#include "layrub/placement/test/part_plan.hpp"
#include "layrub/placement/test/random_graph.hpp"
#include "layrub/placement/test/random_program.hpp"
#include "layrub/placement/test/replay.hpp"
#include "layrub/placement/test/small_plan.hpp"
#include "layrub/placement/test/strategy_kinds.hpp"

namespace layrub::placement {
namespace {

using testing::Apply;
using testing::Join;
using testing::Mutation;
using testing::Mutations;
using testing::PlanTightly;
using testing::RandomGraph;
using testing::RandomProgram;
using testing::Replay;

/// The number of mutations of each kind that were tried.
using Tried = std::vector<int>;

void ExpectObjections(const Graph& made, const Plan& plan, Tried* tried) {
  const Graph graph = testing::WithNeededHostAccess(made, plan);
  ASSERT_EQ(Join(Check(graph, plan)), "") << graph.name << " " << plan.strategy;
  tried->resize(static_cast<size_t>(Mutation::Kind::kSwapOffsets) + 1);
  for (const Mutation& mutation : Mutations(graph, plan)) {
    ++(*tried)[static_cast<size_t>(mutation.kind)];
    const Plan mutated = Apply(plan, mutation);
    const bool proved = Check(graph, mutated).empty();
    if (!proved) {
      EXPECT_TRUE(mutation.needed || mutation.kind != Mutation::Kind::kBeginLater)
          << graph.name << " " << plan.strategy << ": " << Describe(graph, plan, mutation);
      continue;
    }
    EXPECT_FALSE(mutation.breaks()) << graph.name << " " << plan.strategy << ": no objection to "
                                    << Describe(graph, plan, mutation);
    for (uint64_t seed = 0; seed < 3; ++seed) {
      EXPECT_EQ(Replay(graph, mutated, seed), "") << Describe(graph, plan, mutation);
    }
  }
}

class MutationTest : public testing::CheckPlan {};

TEST_F(MutationTest, AreFoundInAHandMadePlan) {
  Tried tried;
  ExpectObjections(graph_, plan_, &tried);
  // The same for a plan in which a is dropped and recomputed.
  Graph chain = testing::Chain().graph;
  chain.ops[1].repeatable = true;
  Program program = DefaultProgram(chain);
  std::vector<bool> dropped(chain.tensors.size());
  dropped[2] = true;
  policies::RecomputeOnce(chain, dropped, &program);
  const Result<Plan> plan = schedule::Schedule(chain, program);
  ASSERT_TRUE(plan.ok()) << plan.status().message;
  ExpectObjections(chain, plan.value(), &tried);
  // The same for plans in which a part of a tensor stays.
  const Graph net = testing::PartNet();
  ExpectObjections(net, testing::PartPlan(net), &tried);
  ExpectObjections(net, testing::MovedPartPlan(net), &tried);
  for (int count : tried) EXPECT_GT(count, 0);
}

TEST_F(MutationTest, AreFoundInPlansOfAHandMadeNet) {
  for (const std::string& strategy : StrategyNames()) {
    Tried tried;
    ExpectObjections(graph_, PlanTightly(graph_, strategy), &tried);
    EXPECT_GT(tried[0], 0);
  }
}

TEST_F(MutationTest, AreFoundInPlansOfRandomNets) {
  for (const std::string& strategy : StrategyNames()) {
    Tried tried;
    for (uint64_t seed = 0; seed < 60; ++seed) {
      const Graph graph = RandomGraph(seed, static_cast<int>(seed % 30));
      ExpectObjections(graph, PlanTightly(graph, strategy), &tried);
    }
    EXPECT_GT(tried[0], 1000);
  }
}

TEST_F(MutationTest, AreFoundInPlansOfRandomPrograms) {
  Tried tried;
  for (uint64_t seed = 0; seed < 60; ++seed) {
    const Graph graph = RandomGraph(seed, static_cast<int>(seed % 30));
    const Result<Plan> plan = schedule::Schedule(
        graph, RandomProgram(graph, seed, /*reckless=*/false), testing::RandomPacking(seed));
    ASSERT_TRUE(plan.ok()) << plan.status().message;
    ExpectObjections(graph, plan.value(), &tried);
  }
  for (size_t kind = 0; kind < tried.size(); ++kind) {
    // Packed into fixed ranges, nothing takes the bytes between a part's end and its tensor's.
    const bool kept_more = Mutation::Kind(kind) == Mutation::Kind::kKeepMore;
    EXPECT_EQ(tried[kind] > 150, !kept_more) << kind;
  }
}

TEST_F(MutationTest, AreFoundInPlansWithMoves) {
  Tried tried;
  int64_t moves = 0;
  for (uint64_t seed = 0; seed < 10; ++seed) {
    const Graph graph = RandomGraph(seed, 100);
    const Program program = RandomProgram(graph, seed, false);
    const pack::Options packing = testing::IntoPeak(graph, program, testing::RandomPacking(seed));
    const Plan plan = schedule::Schedule(graph, program, packing).value();
    if (testing::MovesIn(plan) == 0) continue;
    moves += testing::MovesIn(plan);
    ExpectObjections(graph, plan, &tried);
  }
  EXPECT_GT(moves, 3);
  EXPECT_GT(tried[static_cast<size_t>(Mutation::Kind::kKeepMore)], 10);
}

TEST_F(MutationTest, KeepsReferencesToTheSameSteps) {
  const std::vector<Step>& before = plan_.steps;
  const auto same_waits = [&](const Plan& mutated, size_t left_out) {
    std::vector<Step> waits, waits_before;
    for (const Step& step : mutated.steps) {
      if (step.kind == StepKind::kWait) waits.push_back(mutated.steps[step.step]);
    }
    for (size_t i = 0; i < before.size(); ++i) {
      if (before[i].kind == StepKind::kWait && i != left_out)
        waits_before.push_back(before[before[i].step]);
    }
    return waits == waits_before;
  };
  for (const Mutation& mutation : Mutations(graph_, plan_)) {
    const Step& step = before[mutation.step];
    if (mutation.kind == Mutation::Kind::kDrop && testing::mutate::LaneOf(step))
      continue;  // may be waited for
    const bool drops = mutation.kind == Mutation::Kind::kDrop;
    EXPECT_TRUE(same_waits(Apply(plan_, mutation), drops ? mutation.step : before.size()))
        << Describe(graph_, plan_, mutation);
  }
}

TEST_F(MutationTest, AreFoundByReplayIfWaitsOrCopiesAreRemoved) {
  for (const Step& step : plan_.steps) {
    if (step.kind != StepKind::kWait && !IsOffload(step) && !IsPrefetch(step)) continue;
    const auto index = static_cast<int32_t>(&step - plan_.steps.data());
    const Plan mutated = testing::mutate::Without(plan_, index);
    bool found = false;
    for (uint64_t seed = 0; seed < 200 && !found; ++seed)
      found = !Replay(graph_, mutated, seed).empty();
    EXPECT_TRUE(found) << "without step " << index;
  }
}

}  // namespace
}  // namespace layrub::placement
