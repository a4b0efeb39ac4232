#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "layrub/placement/check/check.hpp"
#include "layrub/placement/cost/live_bytes.hpp"
#include "layrub/placement/cost/timeline.hpp"
#include "layrub/placement/ir/lifetimes.hpp"
#include "layrub/placement/schedule/schedule.hpp"
#include "layrub/placement/search/evaluate.hpp"
#include "layrub/placement/search/local_search.hpp"
#include "layrub/placement/test/hand_made.hpp"
#include "layrub/placement/test/random_graph.hpp"

namespace layrub::placement::search {
namespace {

using testing::HandMade;
using testing::LinkMachine;
using testing::Uses;

int64_t Peak(const Graph& graph, const Program& program) {
  return cost::PeakLiveBytes(FindLifetimes(graph, program).value(), program.runs.size());
}

class OneAway : public ::testing::Test {
 protected:
  OneAway() { net_.graph.ops[0].repeatable = true; }
  /// The result of a search that starts with x copied, or recomputed if `again`.
  Program After(const Machine& machine, int64_t units, bool again, bool parts = false) {
    Draft draft = MakeDraft(net_.graph, DefaultProgram(net_.graph));
    Evict(net_.x, 0, Leaves::kAll, &draft);
    if (again) draft = WithRun(net_.graph, draft, 3, 0);
    LocalSearch search(net_.graph, machine, parts, kUnlimitedHost);
    EXPECT_TRUE(search.Start(draft, units * kAlignment));
    search.Go(30);
    return search.at().timed.program;
  }
  testing::NetOfThree net_;
};

TEST_F(OneAway, StaysIfItFits) {
  // On a link on which even one unit takes longer than y and z.
  for (const bool again : {false, true}) {
    const Program program = After(LinkMachine(0.125), 24, again);
    EXPECT_EQ(program.runs.size(), 4u);
    EXPECT_TRUE(program.tensors[net_.x].evictions.empty());
  }
}

TEST_F(OneAway, IsCopiedOrRecomputedWhicheverIsFaster) {
  for (const bool again : {false, true}) {
    const Program slow_link = After(LinkMachine(1), 16, again);
    EXPECT_EQ(slow_link.runs.size(), 5u);
    const Program fast_link = After(LinkMachine(80), 16, again);
    EXPECT_EQ(fast_link.runs.size(), 4u);
    EXPECT_FALSE(fast_link.tensors[net_.x].evictions.empty());
  }
}

TEST_F(OneAway, KeepsAsManyBytesAsFit) {
  Draft draft = MakeDraft(net_.graph, DefaultProgram(net_.graph));
  Machine machine = LinkMachine(80);
  // x has 8 units, and the others at most 16.
  const auto stays = [&](int64_t units) {
    const Program program =
        LowerInTime(net_.graph, machine, draft, units * kAlignment).value().program;
    EXPECT_EQ(program.tensors[net_.x].evictions.size(), 1u);
    EXPECT_LE(Peak(net_.graph, program), units * kAlignment);
    return program.tensors[net_.x].evictions[0].stays / kAlignment;
  };
  Evict(net_.x, 0, Leaves::kPart, &draft);
  EXPECT_EQ(stays(16), 0);
  EXPECT_EQ(stays(17), 1);
  EXPECT_EQ(stays(20), 4);
  EXPECT_EQ(stays(23), 7);
  EXPECT_EQ(stays(30), 7);  // x must be evicted, at least partly
  machine.latency = 14.9 / 80;
  EXPECT_EQ(stays(18), 0);  // parts are multiples of three units, which a fifth of a latency copies
  EXPECT_EQ(stays(20), 3);
  EXPECT_EQ(stays(23), 6);
  Evict(net_.x, 0, Leaves::kAll, &draft);
  EXPECT_EQ(stays(23), 0);
}

TEST_F(OneAway, KeepsNoPartIfMarkedKeepOrDropped) {
  Draft draft = MakeDraft(net_.graph, DefaultProgram(net_.graph));
  Evict(net_.x, 0, Leaves::kPart, &draft);
  const Draft again = WithRun(net_.graph, draft, 3, 0);
  Program program =
      LowerInTime(net_.graph, LinkMachine(80), again, 20 * kAlignment).value().program;
  ASSERT_EQ(program.tensors[net_.x].evictions.size(), 1u);
  EXPECT_TRUE(program.tensors[net_.x].evictions[0].dropped);
  EXPECT_EQ(program.tensors[net_.x].evictions[0].stays, 0);
  net_.graph.tensors[net_.x].keep = true;
  program = LowerInTime(net_.graph, LinkMachine(80), draft, 20 * kAlignment).value().program;
  ASSERT_EQ(program.tensors[net_.x].evictions.size(), 1u);
  EXPECT_EQ(program.tensors[net_.x].evictions[0].stays, 0);
}

TEST_F(OneAway, IsEvictedPartlyIfOnlyAFewBytesAreMissing) {
  const Program program = After(LinkMachine(8), 23, false, true);
  EXPECT_EQ(program.runs.size(), 4u);
  ASSERT_EQ(program.tensors[net_.x].evictions.size(), 1u);
  EXPECT_EQ(program.tensors[net_.x].evictions[0].stays, 7 * kAlignment);
}

TEST_F(OneAway, CannotStartIfNoEvictionMakesItFit) {
  const Machine machine = LinkMachine(1);
  LocalSearch search(net_.graph, machine, false, kUnlimitedHost);
  EXPECT_FALSE(search.Start(MakeDraft(net_.graph, DefaultProgram(net_.graph)), 15 * kAlignment));
}

/// While both are evicted, only half of one of them fits beside what is needed.
class TwoPartlyAway : public ::testing::Test {
 protected:
  void SetUp() override {
    const TensorId y = net_.Add("y", 8), z = net_.Add("z", 8);
    net_.Forward("longer/forward", Uses({}, {longer_}));
    net_.Forward("shorter/forward", Uses({}, {shorter_}));
    net_.Forward("y/forward", Uses({}, {y}));
    net_.Forward("z/forward", Uses({y}, {z}));
    net_.Backward("shorter/backward", Uses({shorter_}, {}));
    net_.Backward("longer/backward", Uses({longer_}, {}));
    draft_ = MakeDraft(net_.graph, DefaultProgram(net_.graph));
    Evict(longer_, 0, Leaves::kPart, &draft_);
    Evict(shorter_, 0, Leaves::kPart, &draft_);
  }
  static int64_t Stays(const Program& program, TensorId t) {
    return program.tensors[t].evictions.size() == 1
               ? program.tensors[t].evictions[0].stays / kAlignment
               : -1;
  }
  void Expect(int64_t longer_stays, int64_t shorter_stays) const {
    const Program program = LowerInTime(net_.graph, LinkMachine(80), draft_, kRoom).value().program;
    EXPECT_EQ(Stays(program, longer_), longer_stays);
    EXPECT_EQ(Stays(program, shorter_), shorter_stays);
    EXPECT_LE(Peak(net_.graph, program), kRoom);
  }
  static constexpr int64_t kRoom = 20 * kAlignment;
  HandMade net_;
  const TensorId longer_ = net_.Add("longer", 8), shorter_ = net_.Add("shorter", 8);
  Draft draft_;
};

TEST_F(TwoPartlyAway, KeepBytesForTheShorterTimeFirst) {
  Expect(0, 4);
  Evict(shorter_, 0, Leaves::kAll, &draft_);
  Expect(4, 0);
}

TEST_F(TwoPartlyAway, KeepBytesOfTheBarelyEvictedFirst) {
  Evict(longer_, 0, Leaves::kBarely, &draft_);
  Expect(4, 0);
  Evict(shorter_, 0, Leaves::kBarely, &draft_);
  Expect(0, 4);
}

TEST_F(TwoPartlyAway, GetTheirOrderFromLocalSearch) {
  // y, which takes long, begins once what leaves of the longer one has been copied. So that one
  // should keep bytes.
  for (Op& op : net_.graph.ops) op.variants[0].flops = 1;
  net_.graph.ops[2].variants[0].flops = 8;
  const Machine machine = LinkMachine(1);
  LocalSearch search(net_.graph, machine, true, kUnlimitedHost);
  ASSERT_TRUE(search.Start(draft_, kRoom));
  const double before = search.seconds();
  EXPECT_EQ(Stays(search.at().timed.program, shorter_), 4);
  search.Go(100);
  EXPECT_LT(search.seconds(), before);
  EXPECT_EQ(Stays(search.at().timed.program, longer_), 4);
}

/// x is computed from u, which is larger. Both are needed again after y and z have been written and
/// read; u is recomputed then.
TEST(LocalSearch, RecomputesMissingOperandsToo) {
  HandMade net;
  const TensorId u = net.Add("u", 12), x = net.Add("x", 8);
  const TensorId y = net.Add("y", 12), z = net.Add("z", 8);
  net.Forward("u/forward", Uses({}, {u}));
  net.Forward("x/forward", Uses({u}, {x}));
  net.Forward("y/forward", Uses({}, {y}));
  net.Forward("z/forward", Uses({y}, {z}));
  net.Backward("x/backward", Uses({x}, {}));
  net.Backward("u/backward", Uses({u}, {}));
  for (Op& op : net.graph.ops) op.variants[0].flops = 1;
  net.graph.ops[0].repeatable = net.graph.ops[1].repeatable = true;
  Draft draft = MakeDraft(net.graph, DefaultProgram(net.graph));
  Evict(u, 1, Leaves::kAll, &draft);
  Evict(x, 0, Leaves::kAll, &draft);
  draft = WithRun(net.graph, draft, 5, 0);
  const Machine machine = LinkMachine(1);
  LocalSearch search(net.graph, machine, true, kUnlimitedHost);
  ASSERT_TRUE(search.Start(draft, 20 * kAlignment));
  const auto copied = [&] {
    const ShortList<Eviction>& evictions = search.at().timed.program.tensors[x].evictions;
    return std::any_of(evictions.begin(), evictions.end(),
                       [](const Eviction& eviction) { return !eviction.dropped; });
  };
  EXPECT_TRUE(copied());
  search.Go(60);
  EXPECT_FALSE(copied());
  EXPECT_LT(search.seconds(), 10);  // u and x are computed twice; one copy alone takes 8 seconds
}

TEST(LocalSearch, MakesRandomProgramsFasterWithinTheCapacity) {
  int faster = 0;
  for (uint64_t seed = 0; seed < 12; ++seed) {
    const Graph graph = testing::RandomGraph(seed, 30);
    const Machine machine = LinkMachine(1000);
    const Program start = DefaultProgram(graph);
    const int64_t all = Peak(graph, start);
    const int64_t capacity = std::max(FloorBytes(graph) + (all - FloorBytes(graph)) / 4, all / 2);
    const auto descend = [&] {
      LocalSearch search(graph, machine, false, kUnlimitedHost);
      std::vector<LocalSearch::Place> way;
      for (bool goes = search.Start(MakeDraft(graph, start), capacity); goes && way.size() < 60;) {
        way.push_back(search.at());
        search.Go(1);
      }
      return way;
    };
    const std::vector<LocalSearch::Place> way = descend();
    const std::vector<LocalSearch::Place> same = descend();
    ASSERT_EQ(way.size(), same.size());
    for (size_t i = 0; i < way.size(); ++i) {
      EXPECT_EQ(way[i].timed.outcome.seconds, same[i].timed.outcome.seconds);
      const double before = way[std::max<size_t>(i, 1) - 1].timed.outcome.seconds;
      EXPECT_LE(way[i].timed.outcome.seconds, before) << graph.name;
      EXPECT_LE(Peak(graph, way[i].timed.program), capacity) << graph.name;
      const Plan plan = schedule::Schedule(graph, way[i].timed.program).value();
      EXPECT_EQ(Check(graph, plan), std::vector<std::string>{}) << graph.name;
      faster += way[i].timed.outcome.seconds < before;
    }
  }
  EXPECT_GT(faster, 5);
}

}  // namespace
}  // namespace layrub::placement::search
