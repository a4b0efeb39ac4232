#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "layrub/check.hpp"
#include "layrub/placement/lifetimes.hpp"
#include "layrub/placement/strategies/descent.hpp"
#include "layrub/placement/strategies/loads.hpp"
#include "layrub/placement/strategies/stalls.hpp"
#include "layrub/placement/test/hand_made.hpp"
#include "layrub/placement/test/random_graph.hpp"
#include "layrub/timeline.hpp"

namespace layrub {
namespace {

using testing::HandMade;
using testing::LinkMachine;
using testing::Uses;

Outcome Simulated(const Graph& graph, const Machine& machine, const Decision& decision) {
  const Plan plan = Schedule(graph, decision).value();
  const Timeline timeline = Simulate(graph, plan, machine);
  return {timeline.seconds, ReturnsByTensor(graph, plan, timeline)};
}

int64_t Peak(const Graph& graph, const Decision& decision) {
  return LeastBytes(FindLifetimes(graph, decision).value(), decision.runs.size());
}

/// x, which takes a second, is needed again after y and z have come and gone, of 8 units each.
class OneAway : public ::testing::Test {
 protected:
  void SetUp() override {
    x_ = net_.Add("x", 8);
    const TensorId y = net_.Add("y", 8), z = net_.Add("z", 8);
    net_.Forward("x/forward", Uses({}, {x_}));
    net_.Forward("y/forward", Uses({}, {y}));
    net_.Forward("z/forward", Uses({y}, {z}));
    net_.Backward("x/backward", Uses({x_}, {}));
    for (Op& op : net_.graph.ops) op.forms[0].flops = 1;
    net_.graph.ops[0].repeatable = true;
  }
  /// From x copied, or computed again.
  Decision After(const Machine& machine, int64_t units, bool again, bool parts = false) {
    Draft draft = DraftOf(net_.graph, DefaultDecision(net_.graph));
    draft.away[x_][0] = kAway;
    if (again) draft = WithRun(net_.graph, draft, 3, 0);
    Descent descent(net_.graph, machine, parts, [&](const Lifetimes&, const Decision& d) {
      return Simulated(net_.graph, machine, d);
    });
    EXPECT_TRUE(descent.Start(draft, units * kAlignment));
    descent.Go(30);
    return descent.at().decision;
  }
  HandMade net_;
  TensorId x_ = kNone;
};

TEST_F(OneAway, StaysWhereThereIsRoom) {
  // Where even a unit takes longer to come back than y and z take.
  for (const bool again : {false, true}) {
    const Decision decision = After(LinkMachine(0.125), 24, again);
    EXPECT_EQ(decision.runs.size(), 4u);
    EXPECT_TRUE(decision.tensors[x_].gaps.empty());
  }
}

TEST_F(OneAway, ComesBackWhateverWayTakesLess) {
  for (const bool again : {false, true}) {
    const Decision slow_link = After(LinkMachine(1), 16, again);
    EXPECT_EQ(slow_link.runs.size(), 5u);
    const Decision fast_link = After(LinkMachine(80), 16, again);
    EXPECT_EQ(fast_link.runs.size(), 4u);
    EXPECT_FALSE(fast_link.tensors[x_].gaps.empty());
  }
}

TEST_F(OneAway, KeepsAsMuchAsThereIsRoomFor) {
  Draft draft = DraftOf(net_.graph, DefaultDecision(net_.graph));
  Machine machine = LinkMachine(80);
  // Of 8 units, while others have 16 at most.
  const auto stays = [&](int64_t units) {
    const Decision decision = Settle(net_.graph, machine, draft, units * kAlignment).value();
    EXPECT_EQ(decision.tensors[x_].gaps.size(), 1u);
    EXPECT_LE(Peak(net_.graph, decision), units * kAlignment);
    return decision.tensors[x_].gaps[0].stays / kAlignment;
  };
  draft.away[x_][0] = kPartlyAway;
  EXPECT_EQ(stays(16), 0);
  EXPECT_EQ(stays(17), 1);
  EXPECT_EQ(stays(20), 4);
  EXPECT_EQ(stays(23), 7);
  EXPECT_EQ(stays(30), 7);  // something leaves
  machine.latency = 767.5 / 80 / 50;
  EXPECT_EQ(stays(18), 0);  // in 256ths of pieces of 768 units
  EXPECT_EQ(stays(20), 3);
  EXPECT_EQ(stays(23), 6);
  draft.away[x_][0] = kAway;
  EXPECT_EQ(stays(23), 0);
}

TEST_F(OneAway, CopiesInPiecesThatTakeTimeAndAreFew) {
  const Draft draft = DraftOf(net_.graph, DefaultDecision(net_.graph));
  Machine machine = LinkMachine(80);
  const auto piece = [&](double units_while_latent, int64_t units) {
    net_.graph.tensors[x_].bytes = units * kAlignment;
    machine.latency = units_while_latent / 80;
    return Settle(net_.graph, machine, draft, 3 * units * kAlignment)->piece_bytes / kAlignment;
  };
  EXPECT_EQ(piece(0, 6400), 0);
  EXPECT_EQ(piece(6, 6400), 300);
  EXPECT_EQ(piece(1, 6400), 200);  // a 32nd
  EXPECT_EQ(piece(1, 640), 50);
}

TEST_F(OneAway, KeepsNothingOfWhatIsMarkedKeepOrDropped) {
  Draft draft = DraftOf(net_.graph, DefaultDecision(net_.graph));
  draft.away[x_][0] = kPartlyAway;
  const Draft again = WithRun(net_.graph, draft, 3, 0);
  Decision decision = Settle(net_.graph, LinkMachine(80), again, 20 * kAlignment).value();
  ASSERT_EQ(decision.tensors[x_].gaps.size(), 1u);
  EXPECT_TRUE(decision.tensors[x_].gaps[0].dropped);
  EXPECT_EQ(decision.tensors[x_].gaps[0].stays, 0);
  net_.graph.tensors[x_].keep = true;
  decision = Settle(net_.graph, LinkMachine(80), draft, 20 * kAlignment).value();
  ASSERT_EQ(decision.tensors[x_].gaps.size(), 1u);
  EXPECT_EQ(decision.tensors[x_].gaps[0].stays, 0);
}

TEST_F(OneAway, KeepsTheRestWhereItFitsButForALittle) {
  const Decision decision = After(LinkMachine(8), 23, false, true);
  EXPECT_EQ(decision.runs.size(), 4u);
  ASSERT_EQ(decision.tensors[x_].gaps.size(), 1u);
  EXPECT_EQ(decision.tensors[x_].gaps[0].stays, 7 * kAlignment);
}

TEST_F(OneAway, CannotStartWhereThereIsNoRoomWhateverLeaves) {
  const Machine machine = LinkMachine(1);
  Descent descent(net_.graph, machine, false, [](const Lifetimes&, const Decision&) -> Outcome {
    ADD_FAILURE() << "nothing fits";
    return {};
  });
  EXPECT_FALSE(descent.Start(DraftOf(net_.graph, DefaultDecision(net_.graph)), 15 * kAlignment));
}

/// Beside what is needed while both are away there is room for half of one of them.
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
    draft_ = DraftOf(net_.graph, DefaultDecision(net_.graph));
    draft_.away[longer_][0] = draft_.away[shorter_][0] = kPartlyAway;
  }
  static int64_t Stays(const Decision& decision, TensorId t) {
    return decision.tensors[t].gaps.size() == 1 ? decision.tensors[t].gaps[0].stays / kAlignment
                                                : -1;
  }
  void Expect(int64_t longer_stays, int64_t shorter_stays) const {
    const Decision decision = Settle(net_.graph, LinkMachine(80), draft_, kRoom).value();
    EXPECT_EQ(Stays(decision, longer_), longer_stays);
    EXPECT_EQ(Stays(decision, shorter_), shorter_stays);
    EXPECT_LE(Peak(net_.graph, decision), kRoom);
  }
  static constexpr int64_t kRoom = 20 * kAlignment;
  HandMade net_;
  const TensorId longer_ = net_.Add("longer", 8), shorter_ = net_.Add("shorter", 8);
  Draft draft_;
};

TEST_F(TwoPartlyAway, KeepBytesForTheShorterTimeFirst) {
  Expect(0, 4);
  draft_.away[shorter_][0] = kAway;
  Expect(4, 0);
}

TEST_F(TwoPartlyAway, KeepBytesOfWhatIsBarelyAwayFirst) {
  draft_.away[longer_][0] = kBarelyAway;
  Expect(4, 0);
  draft_.away[shorter_][0] = kBarelyAway;
  Expect(0, 4);
}

TEST_F(TwoPartlyAway, AreToldInWhichOrderByDescents) {
  const Machine machine = LinkMachine(80);
  Descent descent(net_.graph, machine, true, [&](const Lifetimes&, const Decision& d) {
    Outcome outcome{Stays(d, longer_) == 4 ? 1.0 : 2.0,
                    std::vector<double>(net_.graph.tensors.size())};
    outcome.returns[longer_] = 1;
    return outcome;
  });
  ASSERT_TRUE(descent.Start(draft_, kRoom));
  EXPECT_EQ(descent.seconds(), 2);
  descent.Go(30);
  EXPECT_EQ(descent.seconds(), 1);
  EXPECT_EQ(descent.at().draft.away[longer_][0], kBarelyAway);
}

/// x is made of u, which is larger. Both are needed again after y and z have come and gone; u is
/// computed again then.
TEST(Descent, ComputesAgainWhatThatNeedsToo) {
  HandMade net;
  const TensorId u = net.Add("u", 12), x = net.Add("x", 8);
  const TensorId y = net.Add("y", 12), z = net.Add("z", 8);
  net.Forward("u/forward", Uses({}, {u}));
  net.Forward("x/forward", Uses({u}, {x}));
  net.Forward("y/forward", Uses({}, {y}));
  net.Forward("z/forward", Uses({y}, {z}));
  net.Backward("x/backward", Uses({x}, {}));
  net.Backward("u/backward", Uses({u}, {}));
  for (Op& op : net.graph.ops) op.forms[0].flops = 1;
  net.graph.ops[0].repeatable = net.graph.ops[1].repeatable = true;
  Draft draft = DraftOf(net.graph, DefaultDecision(net.graph));
  draft.away[u][1] = draft.away[x][0] = kAway;
  draft = WithRun(net.graph, draft, 5, 0);
  const Machine machine = LinkMachine(1);
  Descent descent(net.graph, machine, true, [&](const Lifetimes&, const Decision& d) {
    return Simulated(net.graph, machine, d);
  });
  ASSERT_TRUE(descent.Start(draft, 20 * kAlignment));
  const auto copied = [&] {
    const ShortList<Gap>& gaps = descent.at().decision.tensors[x].gaps;
    return std::any_of(gaps.begin(), gaps.end(), [](const Gap& gap) { return !gap.dropped; });
  };
  EXPECT_TRUE(copied());
  descent.Go(60);
  EXPECT_FALSE(copied());
  EXPECT_LT(descent.seconds(), 10);  // u and x are made twice; one copy alone takes 8 seconds
}

TEST(Descent, MakesRandomDecisionsFasterWithinTheRoomAndProvably) {
  int faster = 0;
  for (uint64_t seed = 0; seed < 12; ++seed) {
    const Graph graph = testing::RandomGraph(seed, 30);
    const Machine machine = LinkMachine(1000);
    const Decision start = DefaultDecision(graph);
    const int64_t all = Peak(graph, start);
    const int64_t room = std::max(FloorBytes(graph) + (all - FloorBytes(graph)) / 4, all / 2);
    const auto descend = [&] {
      Descent descent(graph, machine, false, [&](const Lifetimes& lives, const Decision& d) {
        EXPECT_EQ(lives == FindLifetimes(graph, d).value(), true) << graph.name;
        return Simulated(graph, machine, d);
      });
      std::vector<Descent::Place> way;
      for (bool goes = descent.Start(DraftOf(graph, start), room); goes && way.size() < 60;) {
        way.push_back(descent.at());
        descent.Go(1);
      }
      return way;
    };
    const std::vector<Descent::Place> way = descend();
    const std::vector<Descent::Place> same = descend();
    ASSERT_EQ(way.size(), same.size());
    for (size_t i = 0; i < way.size(); ++i) {
      EXPECT_EQ(way[i].outcome.seconds, same[i].outcome.seconds);
      const double before = way[std::max<size_t>(i, 1) - 1].outcome.seconds;
      EXPECT_LE(way[i].outcome.seconds, before) << graph.name;
      EXPECT_LE(Peak(graph, way[i].decision), room) << graph.name;
      const Plan plan = Schedule(graph, way[i].decision).value();
      EXPECT_EQ(Check(graph, plan), std::vector<std::string>{}) << graph.name;
      faster += way[i].outcome.seconds < before;
    }
  }
  EXPECT_GT(faster, 5);
}

}  // namespace
}  // namespace layrub
