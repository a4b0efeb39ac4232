#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "layrub/placement/check/check.hpp"
#include "layrub/placement/cost/live_bytes.hpp"
#include "layrub/placement/ir/lifetimes.hpp"
#include "layrub/placement/schedule/schedule.hpp"
#include "layrub/placement/search/draft.hpp"
#include "layrub/placement/search/evaluate.hpp"
#include "layrub/placement/test/hand_made.hpp"
#include "layrub/placement/test/random_graph.hpp"
#include "layrub/placement/test/random_program.hpp"

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
    draft_ = MakeDraft(net_.graph, DefaultProgram(net_.graph));
  }
  std::vector<std::string> Names(const Draft& draft) const {
    std::vector<std::string> names;
    for (const placement::Run& run : draft.program.runs)
      names.push_back(net_.graph.ops[run.op].name + (run.recompute ? " again" : ""));
    return names;
  }
  HandMade net_;
  TensorId a_ = kNone, b_ = kNone, c_ = kNone;
  Draft draft_;
};

TEST_F(Three, AreCopiedIfEvicted) {
  Evict(a_, 1, Leaves::kAll, &draft_);  // from b/forward to its backward
  const Program program = Lower(net_.graph, draft_);
  ASSERT_EQ(program.tensors[a_].evictions.size(), 1u);
  EXPECT_EQ(program.tensors[a_].evictions[0], (Eviction{1, 1, 5, 5, false}));
  EXPECT_TRUE(program.tensors[b_].evictions.empty());
}

TEST_F(Three, AreDroppedIfRecomputed) {
  const Draft more = WithRun(net_.graph, draft_, 4, 1);
  EXPECT_EQ(Names(more),
            (std::vector<std::string>{"a/forward", "b/forward", "c/forward", "backward",
                                      "b/forward again", "backward", "backward"}));
  const Program program = Lower(net_.graph, more);
  ASSERT_EQ(program.tensors[b_].evictions.size(), 1u);
  EXPECT_EQ(program.tensors[b_].evictions[0], (Eviction{2, 2, 4, 4, true}));
  EXPECT_TRUE(program.tensors[a_].evictions.empty());  // it stays for that
  EXPECT_TRUE(FindLifetimes(net_.graph, program).ok());
}

TEST_F(Three, ArePrefetchedForARecomputation) {
  Evict(a_, 1, Leaves::kAll, &draft_);
  const Program program = Lower(net_.graph, WithRun(net_.graph, draft_, 4, 1));
  ASSERT_EQ(program.tensors[a_].evictions.size(), 2u);
  EXPECT_EQ(program.tensors[a_].evictions[0], (Eviction{1, 1, 4, 4, false}));
  EXPECT_EQ(program.tensors[a_].evictions[1], (Eviction{4, 4, 6, 6, false}));
}

TEST_F(Three, ArePrefetchedOnceARecomputationIsRemoved) {
  const Draft more = WithRun(net_.graph, draft_, 4, 1);
  std::vector<RunId> numbers;
  const Draft less = WithoutRun(net_.graph, more, 4, &numbers);
  EXPECT_EQ(Names(less), Names(draft_));
  EXPECT_EQ(numbers, (std::vector<RunId>{0, 1, 2, 3, 3, 4, 5}));
  const Program program = Lower(net_.graph, less);
  ASSERT_EQ(program.tensors[b_].evictions.size(), 1u);
  EXPECT_EQ(program.tensors[b_].evictions[0], (Eviction{2, 2, 4, 4, false}));
}

TEST_F(Three, AreNotRecomputedForARemovedRecomputation) {
  // a is recomputed for b, which is recomputed.
  const Draft both = WithRun(net_.graph, WithRun(net_.graph, draft_, 4, 1), 4, 0);
  ASSERT_EQ(both.program.runs.size(), 8u);
  EXPECT_EQ(both.program.runs[4].op, 0);
  EXPECT_EQ(both.program.runs[5].op, 1);
  EXPECT_EQ(WithoutRun(net_.graph, both, 4).program.runs.size(), 7u);
  // Its backward needs the recomputed value, which would not be on the device otherwise.
  EXPECT_EQ(WithoutRun(net_.graph, both, 5).program.runs.size(), 7u);
  Draft dropped = both;
  for (size_t i = 0; i < dropped.uses[a_].size(); ++i) {
    if (dropped.uses[a_][i].run == 5) Evict(a_, i, Leaves::kAll, &dropped);
  }
  const Draft thrice = WithRun(net_.graph, dropped, 7, 0);
  ASSERT_EQ(thrice.program.runs.size(), 9u);
  EXPECT_EQ(WithoutRun(net_.graph, thrice, 5).program.runs.size(), 7u);
}

TEST_F(Three, AreHeldUntilTheirCopiesEndIfTheyFit) {
  Evict(a_, 1, Leaves::kAll,
        &draft_);  // from run 1 to run 5; the copy takes from second 1 to second 3.7
  for (const int64_t units : {24, 16}) {
    Program program = Lower(net_.graph, draft_);
    const Lifetimes lives = FindLifetimes(net_.graph, program).value();
    const std::vector<int64_t> loads = cost::LiveBytes(lives, program.runs.size());
    EXPECT_EQ(loads[3], 16 * kAlignment);
    Evaluate(net_.graph, LinkMachine(3), units * kAlignment, lives, loads, &program);
    EXPECT_EQ(program.tensors[a_].evictions[0].release, units == 24 ? 3 : 1);
  }
}

TEST_F(Three, AreCopiedToTheHostOnceForEachValue) {
  const Draft more = WithRun(net_.graph, draft_, 4, 1);
  const ShortList<Eviction> twice{{1, 1, 4, 4, false}, {4, 4, 6, 6, false}};
  const auto offloads = [&](TensorId t, const ShortList<Eviction>& evictions) {
    return FindOffloads(net_.graph.tensors[t], more.uses[t], more.program.runs, evictions);
  };
  EXPECT_EQ(offloads(a_, twice), ShortList<RunId>{1});
  const ShortList<Eviction> dropped{{2, 2, 4, 4, true}};
  EXPECT_EQ(offloads(b_, dropped), ShortList<RunId>{});
}

TEST_F(Three, ArePartlyEvictedIfAProgramKeepsAPart) {
  Program program = DefaultProgram(net_.graph);
  program.tensors[a_].evictions = {{1, 1, 5, 5, false, 2 * kAlignment}};
  program.tensors[b_].evictions = {{2, 2, 4, 4}};
  const Draft draft = MakeDraft(net_.graph, program);
  EXPECT_EQ(FindEviction(draft.program, a_, &Eviction::after, 1)->leaves, Leaves::kPart);
  EXPECT_EQ(FindEviction(draft.program, b_, &Eviction::after, 2)->leaves, Leaves::kAll);
  EXPECT_TRUE(draft.program.tensors[c_].evictions.empty());
  // Lower does not say how much stays, because it knows no capacity.
  EXPECT_EQ(Lower(net_.graph, draft).tensors[a_].evictions[0],
            (Eviction{1, 1, 5, 5, false, 0, Leaves::kPart}));
}

TEST_F(Three, ArePartlyEvictedBeforeAndAfterARecomputation) {
  Evict(a_, 1, Leaves::kPart, &draft_);  // the recomputation of b/forward reads it
  const Draft more = WithRun(net_.graph, draft_, 4, 1);
  EXPECT_EQ(more.program.tensors[a_].evictions,
            (ShortList<Eviction>{{1, 1, 4, 4, false, 0, Leaves::kPart},
                                 {4, 4, 6, 6, false, 0, Leaves::kPart}}));
  const Draft less = WithoutRun(net_.graph, more, 4);
  EXPECT_EQ(less.program.tensors[a_].evictions,
            (ShortList<Eviction>{{1, 1, 5, 5, false, 0, Leaves::kPart}}));
}

TEST(Drafts, LaysNoOutputOnAPartlyEvictedTensor) {
  HandMade net;
  const TensorId x = net.Add("x", 4), y = net.Add("y", 4);
  net.Forward("first", Uses({}, {x}));
  net.Forward("second", Uses({x}, {}));
  net.Forward("third", Uses({x}, {y}, {{y, x}}));
  net.Forward("fourth", Uses({x, y}, {}));
  Program program = DefaultProgram(net.graph);
  program.tensors[x].evictions = {{0, 0, 1, 1},
                                  {2, 2, 3, 3}};  // the second comes back from the same copy
  program.runs[2].aliases = {{y, x}};
  Draft draft = MakeDraft(net.graph, program);
  EXPECT_EQ(Lower(net.graph, draft).runs[2].aliases.size(), 1u);
  Evict(x, 0, Leaves::kPart, &draft);
  EXPECT_EQ(Lower(net.graph, draft).runs[2].aliases.size(), 1u);
  Evict(x, 2, Leaves::kPart, &draft);
  EXPECT_TRUE(Lower(net.graph, draft).runs[2].aliases.empty());
}

/// The draft of a random program.
Draft RandomDraft(const Graph& graph, uint64_t seed) {
  Program program = testing::RandomProgram(graph, seed, false);
  for (TensorProgram& tensor : program.tensors) tensor.whole = false;
  return MakeDraft(graph, program);
}

TEST(Drafts, GivesCorrectPlansForRandomPrograms) {
  int left_out = 0;
  for (uint64_t seed = 0; seed < 60; ++seed) {
    const Graph graph = testing::RandomGraph(seed, 20);
    const Draft draft = RandomDraft(graph, seed);
    const Result<Plan> plan = schedule::Schedule(graph, Lower(graph, draft));
    ASSERT_TRUE(plan.ok()) << graph.name << ": " << plan.status().message;
    EXPECT_EQ(Check(graph, plan.value()), std::vector<std::string>{}) << graph.name;
    // And without each of its recomputations.
    for (RunId r = 0; r < static_cast<RunId>(draft.program.runs.size()); ++r) {
      if (!draft.program.runs[r].recompute) continue;
      const Draft less = WithoutRun(graph, draft, r);
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
