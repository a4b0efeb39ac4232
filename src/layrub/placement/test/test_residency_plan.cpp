#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "layrub/placement/check/check.hpp"
#include "layrub/placement/cost/live_bytes.hpp"
#include "layrub/placement/ir/lifetimes.hpp"
#include "layrub/placement/schedule/schedule.hpp"
#include "layrub/placement/search/residency.hpp"
#include "layrub/placement/search/time_copies.hpp"
#include "layrub/placement/test/hand_made.hpp"
#include "layrub/placement/test/random_decision.hpp"
#include "layrub/placement/test/random_graph.hpp"

namespace layrub::placement::search {
namespace {

using testing::HandMade;
using testing::LinkMachine;
using testing::Uses;

/// Computes a, b from a, and c from b; the backwards, which write nothing, need c, b, a. Each value
/// has 8 units and each operation takes a second.
class Three : public ::testing::Test {
 protected:
  void SetUp() override {
    a_ = net_.Add("a", 8), b_ = net_.Add("b", 8), c_ = net_.Add("c", 8);
    net_.Forward("a/forward", Uses({}, {a_}));
    net_.Forward("b/forward", Uses({a_}, {b_}));
    net_.Forward("c/forward", Uses({b_}, {c_}));
    for (const TensorId t : {c_, b_, a_}) net_.Backward("backward", Uses({t}, {}));
    for (Op& op : net_.graph.ops) op.variants[0].flops = 1;
    for (OpId o = 0; o < 3; ++o) net_.graph.ops[o].repeatable = true;
    residency_ = ResidencyOf(net_.graph, DefaultDecision(net_.graph));
  }
  std::vector<std::string> Program(const Residency& residency) const {
    std::vector<std::string> names;
    for (const placement::Run& run : residency.runs)
      names.push_back(net_.graph.ops[run.op].name + (run.recompute ? " again" : ""));
    return names;
  }
  HandMade net_;
  TensorId a_ = kNone, b_ = kNone, c_ = kNone;
  Residency residency_;
};

TEST_F(Three, AreCopiedIfEvicted) {
  residency_.evictions[a_][1] = kEvicted;  // from b/forward to its backward
  const Decision decision = Lower(net_.graph, residency_);
  ASSERT_EQ(decision.tensors[a_].evictions.size(), 1u);
  EXPECT_EQ(decision.tensors[a_].evictions[0], (Eviction{1, 1, 5, 5, false}));
  EXPECT_TRUE(decision.tensors[b_].evictions.empty());
}

TEST_F(Three, AreDroppedIfRecomputed) {
  const Residency more = WithRun(net_.graph, residency_, 4, 1);
  EXPECT_EQ(Program(more),
            (std::vector<std::string>{"a/forward", "b/forward", "c/forward", "backward",
                                      "b/forward again", "backward", "backward"}));
  const Decision decision = Lower(net_.graph, more);
  ASSERT_EQ(decision.tensors[b_].evictions.size(), 1u);
  EXPECT_EQ(decision.tensors[b_].evictions[0], (Eviction{2, 2, 4, 4, true}));
  EXPECT_TRUE(decision.tensors[a_].evictions.empty());  // it stays for that
  EXPECT_TRUE(FindLifetimes(net_.graph, decision).ok());
}

TEST_F(Three, ArePrefetchedForARecomputation) {
  residency_.evictions[a_][1] = kEvicted;
  const Decision decision = Lower(net_.graph, WithRun(net_.graph, residency_, 4, 1));
  ASSERT_EQ(decision.tensors[a_].evictions.size(), 2u);
  EXPECT_EQ(decision.tensors[a_].evictions[0], (Eviction{1, 1, 4, 4, false}));
  EXPECT_EQ(decision.tensors[a_].evictions[1], (Eviction{4, 4, 6, 6, false}));
}

TEST_F(Three, ArePrefetchedOnceARecomputationIsRemoved) {
  const Residency more = WithRun(net_.graph, residency_, 4, 1);
  std::vector<RunId> numbers;
  const Residency less = WithoutRun(net_.graph, more, 4, &numbers);
  EXPECT_EQ(Program(less), Program(residency_));
  EXPECT_EQ(numbers, (std::vector<RunId>{0, 1, 2, 3, 3, 4, 5}));
  const Decision decision = Lower(net_.graph, less);
  ASSERT_EQ(decision.tensors[b_].evictions.size(), 1u);
  EXPECT_EQ(decision.tensors[b_].evictions[0], (Eviction{2, 2, 4, 4, false}));
}

TEST_F(Three, AreNotRecomputedForARemovedRecomputation) {
  // a is recomputed for b, which is recomputed.
  const Residency both = WithRun(net_.graph, WithRun(net_.graph, residency_, 4, 1), 4, 0);
  ASSERT_EQ(both.runs.size(), 8u);
  EXPECT_EQ(both.runs[4].op, 0);
  EXPECT_EQ(both.runs[5].op, 1);
  EXPECT_EQ(WithoutRun(net_.graph, both, 4).runs.size(), 7u);
  // Its backward needs the recomputed value, which would not be on the device otherwise.
  EXPECT_EQ(WithoutRun(net_.graph, both, 5).runs.size(), 7u);
  Residency dropped = both;
  for (size_t i = 0; i < dropped.uses[a_].size(); ++i) {
    if (dropped.uses[a_][i].run == 5) dropped.evictions[a_][i] = kEvicted;
  }
  const Residency thrice = WithRun(net_.graph, dropped, 7, 0);
  ASSERT_EQ(thrice.runs.size(), 9u);
  EXPECT_EQ(WithoutRun(net_.graph, thrice, 5).runs.size(), 7u);
}

TEST_F(Three, AreHeldUntilTheirCopiesEndIfTheyFit) {
  residency_.evictions[a_][1] =
      kEvicted;  // from run 1 to run 5; the copy takes from second 2 to second 4
  for (const int64_t units : {24, 16}) {
    Decision decision = Lower(net_.graph, residency_);
    const Lifetimes lives = FindLifetimes(net_.graph, decision).value();
    std::vector<int64_t> loads = cost::LiveBytes(lives, decision.runs.size());
    EXPECT_EQ(loads[3], 16 * kAlignment);
    HoldSaves(net_.graph, LinkMachine(4), units * kAlignment, residency_.uses, lives, &loads,
              &decision);
    EXPECT_EQ(decision.tensors[a_].evictions[0].release, units == 24 ? 3 : 1);
    EXPECT_EQ(loads[3], (units == 24 ? 24 : 16) * kAlignment);
    EXPECT_EQ(loads[4], 8 * kAlignment);
  }
}

TEST_F(Three, AreCopiedToTheHostOnceForEachValue) {
  const Residency more = WithRun(net_.graph, residency_, 4, 1);
  const ShortList<Eviction> twice{{1, 1, 4, 4, false}, {4, 4, 6, 6, false}};
  EXPECT_TRUE(Saves(more.uses[a_], more.runs, twice, 0));
  EXPECT_FALSE(Saves(more.uses[a_], more.runs, twice, 1));
  const ShortList<Eviction> dropped{{2, 2, 4, 4, true}};
  EXPECT_FALSE(Saves(more.uses[b_], more.runs, dropped, 0));
}

TEST_F(Three, ArePartlyEvictedIfADecisionKeepsAPart) {
  Decision decision = DefaultDecision(net_.graph);
  decision.tensors[a_].evictions = {{1, 1, 5, 5, false, 2 * kAlignment}};
  decision.tensors[b_].evictions = {{2, 2, 4, 4}};
  const Residency residency = ResidencyOf(net_.graph, decision);
  EXPECT_EQ(residency.evictions[a_][1], kPartlyEvicted);
  EXPECT_EQ(residency.evictions[b_][1], kEvicted);
  EXPECT_EQ(residency.evictions[c_][0], kNotEvicted);
  // Lower does not say how much stays, because it knows no capacity.
  EXPECT_EQ(Lower(net_.graph, residency).tensors[a_].evictions[0], (Eviction{1, 1, 5, 5, false}));
}

TEST_F(Three, ArePartlyEvictedBeforeAndAfterARecomputation) {
  residency_.evictions[a_][1] = kPartlyEvicted;  // the recomputation of b/forward reads it
  const Residency more = WithRun(net_.graph, residency_, 4, 1);
  EXPECT_EQ(more.evictions[a_][1], kPartlyEvicted);
  EXPECT_EQ(more.evictions[a_][2], kPartlyEvicted);
  const Residency less = WithoutRun(net_.graph, more, 4);
  EXPECT_EQ(less.evictions[a_][1], kPartlyEvicted);
}

TEST(Residency, LaysNoOutputOnAPartlyEvictedTensor) {
  HandMade net;
  const TensorId x = net.Add("x", 4), y = net.Add("y", 4);
  net.Forward("first", Uses({}, {x}));
  net.Forward("second", Uses({x}, {}));
  net.Forward("third", Uses({x}, {y}, {{y, x}}));
  net.Forward("fourth", Uses({x, y}, {}));
  Decision decision = DefaultDecision(net.graph);
  decision.tensors[x].evictions = {{0, 0, 1, 1},
                                   {2, 2, 3, 3}};  // the second comes back from the same copy
  decision.runs[2].aliases = {{y, x}};
  Residency residency = ResidencyOf(net.graph, decision);
  EXPECT_EQ(Lower(net.graph, residency).runs[2].aliases.size(), 1u);
  residency.evictions[x][0] = kPartlyEvicted;
  EXPECT_EQ(Lower(net.graph, residency).runs[2].aliases.size(), 1u);
  residency.evictions[x][2] = kPartlyEvicted;
  EXPECT_TRUE(Lower(net.graph, residency).runs[2].aliases.empty());
}

/// The residency of a random decision.
Residency RandomDraft(const Graph& graph, uint64_t seed) {
  Decision decision = testing::RandomDecision(graph, seed, false);
  for (TensorDecision& tensor : decision.tensors) tensor.whole = false;
  return ResidencyOf(graph, decision);
}

TEST(Residency, GivesCorrectPlansForRandomDecisions) {
  int left_out = 0;
  for (uint64_t seed = 0; seed < 60; ++seed) {
    const Graph graph = testing::RandomGraph(seed, 20);
    const Residency residency = RandomDraft(graph, seed);
    const Result<Plan> plan = schedule::Schedule(graph, Lower(graph, residency));
    ASSERT_TRUE(plan.ok()) << graph.name << ": " << plan.status().message;
    EXPECT_EQ(Check(graph, plan.value()), std::vector<std::string>{}) << graph.name;
    // And without each of its recomputations.
    for (RunId r = 0; r < static_cast<RunId>(residency.runs.size()); ++r) {
      if (!residency.runs[r].recompute) continue;
      const Residency less = WithoutRun(graph, residency, r);
      const Result<Plan> without = schedule::Schedule(graph, Lower(graph, less));
      ASSERT_TRUE(without.ok()) << graph.name << ": " << without.status().message;
      EXPECT_EQ(Check(graph, without.value()), std::vector<std::string>{}) << graph.name;
      ++left_out;
    }
  }
  EXPECT_GT(left_out, 60);
}

}  // namespace
}  // namespace layrub::placement::search
