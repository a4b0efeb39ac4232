#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "layrub/check.hpp"
#include "layrub/placement/lifetimes.hpp"
#include "layrub/placement/strategies/draft.hpp"
#include "layrub/placement/strategies/loads.hpp"
#include "layrub/placement/strategies/time_copies.hpp"
#include "layrub/placement/test/hand_made.hpp"
#include "layrub/placement/test/random_decision.hpp"
#include "layrub/placement/test/random_graph.hpp"

namespace layrub {
namespace {

using testing::HandMade;
using testing::LinkMachine;
using testing::Uses;

/// a, of it b, of it c; backwards, which make nothing, need c, b, a. Each of 8 units and a second.
class Three : public ::testing::Test {
 protected:
  void SetUp() override {
    a_ = net_.Add("a", 8), b_ = net_.Add("b", 8), c_ = net_.Add("c", 8);
    net_.Forward("a/forward", Uses({}, {a_}));
    net_.Forward("b/forward", Uses({a_}, {b_}));
    net_.Forward("c/forward", Uses({b_}, {c_}));
    for (const TensorId t : {c_, b_, a_}) net_.Backward("backward", Uses({t}, {}));
    for (Op& op : net_.graph.ops) op.forms[0].flops = 1;
    for (OpId o = 0; o < 3; ++o) net_.graph.ops[o].repeatable = true;
    draft_ = DraftOf(net_.graph, DefaultDecision(net_.graph));
  }
  std::vector<std::string> Program(const Draft& draft) const {
    std::vector<std::string> names;
    for (const layrub::Run& run : draft.runs)
      names.push_back(net_.graph.ops[run.op].name + (run.recompute ? " again" : ""));
    return names;
  }
  HandMade net_;
  TensorId a_ = kNone, b_ = kNone, c_ = kNone;
  Draft draft_;
};

TEST_F(Three, AreCopiedWhereTheyAreAway) {
  draft_.away[a_][1] = kAway;  // from b/forward to its backward
  const Decision decision = Spell(net_.graph, draft_);
  ASSERT_EQ(decision.tensors[a_].gaps.size(), 1u);
  EXPECT_EQ(decision.tensors[a_].gaps[0], (Gap{1, 1, 5, 5, false}));
  EXPECT_TRUE(decision.tensors[b_].gaps.empty());
}

TEST_F(Three, AreDroppedWhereTheyAreComputedAgain) {
  const Draft more = WithRun(net_.graph, draft_, 4, 1);
  EXPECT_EQ(Program(more),
            (std::vector<std::string>{"a/forward", "b/forward", "c/forward", "backward",
                                      "b/forward again", "backward", "backward"}));
  const Decision decision = Spell(net_.graph, more);
  ASSERT_EQ(decision.tensors[b_].gaps.size(), 1u);
  EXPECT_EQ(decision.tensors[b_].gaps[0], (Gap{2, 2, 4, 4, true}));
  EXPECT_TRUE(decision.tensors[a_].gaps.empty());  // it stays for that
  EXPECT_TRUE(FindLifetimes(net_.graph, decision).ok());
}

TEST_F(Three, ComeFromTheHostForWhatRunsAgainIfTheyAreAway) {
  draft_.away[a_][1] = kAway;
  const Decision decision = Spell(net_.graph, WithRun(net_.graph, draft_, 4, 1));
  ASSERT_EQ(decision.tensors[a_].gaps.size(), 2u);
  EXPECT_EQ(decision.tensors[a_].gaps[0], (Gap{1, 1, 4, 4, false}));
  EXPECT_EQ(decision.tensors[a_].gaps[1], (Gap{4, 4, 6, 6, false}));
}

TEST_F(Three, ComeFromTheHostOnceARecomputationIsLeftOut) {
  const Draft more = WithRun(net_.graph, draft_, 4, 1);
  std::vector<RunId> numbers;
  const Draft less = WithoutRun(net_.graph, more, 4, &numbers);
  EXPECT_EQ(Program(less), Program(draft_));
  EXPECT_EQ(numbers, (std::vector<RunId>{0, 1, 2, 3, 3, 4, 5}));
  const Decision decision = Spell(net_.graph, less);
  ASSERT_EQ(decision.tensors[b_].gaps.size(), 1u);
  EXPECT_EQ(decision.tensors[b_].gaps[0], (Gap{2, 2, 4, 4, false}));
}

TEST_F(Three, AreNotComputedAgainForARecomputationThatIsLeftOut) {
  // a is computed again for b, which is computed again.
  const Draft both = WithRun(net_.graph, WithRun(net_.graph, draft_, 4, 1), 4, 0);
  ASSERT_EQ(both.runs.size(), 8u);
  EXPECT_EQ(both.runs[4].op, 0);
  EXPECT_EQ(both.runs[5].op, 1);
  EXPECT_EQ(WithoutRun(net_.graph, both, 4).runs.size(), 7u);
  // Its backward needs what was computed again; without that it would not be there twice.
  EXPECT_EQ(WithoutRun(net_.graph, both, 5).runs.size(), 7u);
  Draft dropped = both;
  for (size_t i = 0; i < dropped.uses[a_].size(); ++i) {
    if (dropped.uses[a_][i].run == 5) dropped.away[a_][i] = kAway;
  }
  const Draft thrice = WithRun(net_.graph, dropped, 7, 0);
  ASSERT_EQ(thrice.runs.size(), 9u);
  EXPECT_EQ(WithoutRun(net_.graph, thrice, 5).runs.size(), 7u);
}

TEST_F(Three, AreHeldUntilTheirCopiesHaveEndedAsFarAsThereIsRoom) {
  draft_.away[a_][1] = kAway;  // from run 1 to run 5; the copy takes from second 2 to second 4
  for (const int64_t units : {24, 16}) {
    Decision decision = Spell(net_.graph, draft_);
    const Lifetimes lives = FindLifetimes(net_.graph, decision).value();
    std::vector<int64_t> loads = Loads(lives, decision.runs.size());
    EXPECT_EQ(loads[3], 16 * kAlignment);
    HoldSaves(net_.graph, LinkMachine(4), units * kAlignment, draft_.uses, lives, &loads,
              &decision);
    EXPECT_EQ(decision.tensors[a_].gaps[0].release, units == 24 ? 3 : 1);
    EXPECT_EQ(loads[3], (units == 24 ? 24 : 16) * kAlignment);
    EXPECT_EQ(loads[4], 8 * kAlignment);
  }
}

TEST_F(Three, AreCopiedToTheHostOnceForEachValue) {
  const Draft more = WithRun(net_.graph, draft_, 4, 1);
  const ShortList<Gap> twice{{1, 1, 4, 4, false}, {4, 4, 6, 6, false}};
  EXPECT_TRUE(Saves(more.uses[a_], more.runs, twice, 0));
  EXPECT_FALSE(Saves(more.uses[a_], more.runs, twice, 1));
  const ShortList<Gap> dropped{{2, 2, 4, 4, true}};
  EXPECT_FALSE(Saves(more.uses[b_], more.runs, dropped, 0));
}

TEST_F(Three, ArePartlyAwayWhereADecisionKeepsAPart) {
  Decision decision = DefaultDecision(net_.graph);
  decision.tensors[a_].gaps = {{1, 1, 5, 5, false, 2 * kAlignment}};
  decision.tensors[b_].gaps = {{2, 2, 4, 4}};
  const Draft draft = DraftOf(net_.graph, decision);
  EXPECT_EQ(draft.away[a_][1], kPartlyAway);
  EXPECT_EQ(draft.away[b_][1], kAway);
  EXPECT_EQ(draft.away[c_][0], kThere);
  // How much stays is not spelled out: there is no room to know of.
  EXPECT_EQ(Spell(net_.graph, draft).tensors[a_].gaps[0], (Gap{1, 1, 5, 5, false}));
}

TEST_F(Three, ArePartlyAwayBeforeAndAfterWhatRunsAgain) {
  draft_.away[a_][1] = kPartlyAway;  // b/forward again reads it
  const Draft more = WithRun(net_.graph, draft_, 4, 1);
  EXPECT_EQ(more.away[a_][1], kPartlyAway);
  EXPECT_EQ(more.away[a_][2], kPartlyAway);
  const Draft less = WithoutRun(net_.graph, more, 4);
  EXPECT_EQ(less.away[a_][1], kPartlyAway);
}

TEST(Draft, LaysNoOutputOnWhatLeavesInPart) {
  HandMade net;
  const TensorId x = net.Add("x", 4), y = net.Add("y", 4);
  net.Forward("first", Uses({}, {x}));
  net.Forward("second", Uses({x}, {}));
  net.Forward("third", Uses({x}, {y}, {{y, x}}));
  net.Forward("fourth", Uses({x, y}, {}));
  Decision decision = DefaultDecision(net.graph);
  decision.tensors[x].gaps = {{0, 0, 1, 1}, {2, 2, 3, 3}};  // the second comes back from the copy
  decision.runs[2].aliases = {{y, x}};
  Draft draft = DraftOf(net.graph, decision);
  EXPECT_EQ(Spell(net.graph, draft).runs[2].aliases.size(), 1u);
  draft.away[x][0] = kPartlyAway;
  EXPECT_EQ(Spell(net.graph, draft).runs[2].aliases.size(), 1u);
  draft.away[x][2] = kPartlyAway;
  EXPECT_TRUE(Spell(net.graph, draft).runs[2].aliases.empty());
}

/// Of a random decision.
Draft RandomDraft(const Graph& graph, uint64_t seed) {
  Decision decision = testing::RandomDecision(graph, seed, false);
  for (TensorDecision& tensor : decision.tensors) tensor.whole = false;
  return DraftOf(graph, decision);
}

TEST(Draft, OfARandomDecisionIsProvedWhenItIsSpelledOut) {
  int left_out = 0;
  for (uint64_t seed = 0; seed < 60; ++seed) {
    const Graph graph = testing::RandomGraph(seed, 20);
    const Draft draft = RandomDraft(graph, seed);
    const Result<Plan> plan = Schedule(graph, Spell(graph, draft));
    ASSERT_TRUE(plan.ok()) << graph.name << ": " << plan.status().message;
    EXPECT_EQ(Check(graph, plan.value()), std::vector<std::string>{}) << graph.name;
    // And without each of its recomputations.
    for (RunId r = 0; r < static_cast<RunId>(draft.runs.size()); ++r) {
      if (!draft.runs[r].recompute) continue;
      const Draft less = WithoutRun(graph, draft, r);
      const Result<Plan> without = Schedule(graph, Spell(graph, less));
      ASSERT_TRUE(without.ok()) << graph.name << ": " << without.status().message;
      EXPECT_EQ(Check(graph, without.value()), std::vector<std::string>{}) << graph.name;
      ++left_out;
    }
  }
  EXPECT_GT(left_out, 60);
}

}  // namespace
}  // namespace layrub
