#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "layrub/placement/strategies/paging.hpp"
#include "layrub/placement/strategies/pieces.hpp"
#include "layrub/placement/test/hand_made.hpp"
#include "layrub/placement/test/random_graph.hpp"
#include "layrub/placement/uses.hpp"

namespace layrub {
namespace {

using testing::HandMade;
using testing::Uses;

constexpr int64_t kUnit = kAlignment;

/// a, b and c are made one after the other and needed again in the order c, b, a; each by an
/// operation that makes nothing.
class Stack : public HandMade {
 public:
  explicit Stack(std::vector<int64_t> units) {
    std::vector<TensorId> values;
    for (size_t i = 0; i < units.size(); ++i) {
      values.push_back(Add(std::string(1, static_cast<char>('a' + i)), units[i]));
      Forward(graph.tensors.back().name + "/forward", Uses({}, {values.back()}));
    }
    for (size_t i = units.size(); i-- > 0;) {
      Backward(graph.tensors[values[i]].name + "/backward", Uses({values[i]}, {}));
    }
    for (Op& op : graph.ops) op.forms[0].flops = 1000;
  }
};

/// A FLOP a second and a byte a second.
Machine Unit() { return {"unit", 1, 1e9, 1, 1, 2, 0}; }

Decision Paged(const Graph& graph, int64_t bytes, int64_t headroom = 0) {
  Decision decision = DefaultDecision(graph);
  PageWithin(graph, Unit(), FindUses(graph, decision.runs), bytes, headroom, &decision);
  return decision;
}

TEST(PageWithin, MovesNothingWhereAllFits) {
  const Stack net({4, 4, 4});
  const Decision decision = Paged(net.graph, 12 * kUnit);
  for (const TensorDecision& tensor : decision.tensors) EXPECT_TRUE(tensor.gaps.empty());
  EXPECT_EQ(PeakLoad(net.graph, decision), 12 * kUnit);
}

TEST(PageWithin, SendsAwayWhatIsNeededLast) {
  const Stack net({4, 4, 4});
  const Decision decision = Paged(net.graph, 8 * kUnit);
  // a leaves when c comes, and comes back when c is gone.
  ASSERT_EQ(decision.tensors[0].gaps.size(), 1u);
  EXPECT_EQ(decision.tensors[0].gaps[0], (Gap{0, 1, 4, 5}));
  EXPECT_TRUE(decision.tensors[1].gaps.empty());
  EXPECT_TRUE(decision.tensors[2].gaps.empty());
  EXPECT_EQ(Schedule(net.graph, decision).value().device_bytes, 8 * kUnit);
}

TEST(PageWithin, LeavesSmallTensorsWhereALargeOneWillDo) {
  const Stack net({1, 8000, 8000, 8000});
  const Decision decision = Paged(net.graph, 16001 * kUnit);
  EXPECT_TRUE(decision.tensors[0].gaps.empty());
  EXPECT_EQ(decision.tensors[1].gaps.size(), 1u);
  // But nothing is spared where nothing else helps.
  EXPECT_EQ(Paged(net.graph, 8000 * kUnit).tensors[0].gaps.size(), 1u);
}

TEST(PageWithin, FetchesEarlyWhereThereIsRoom) {
  const Stack net({4, 4, 4, 1});
  // The copy of a takes as long as an operation and a bit: two operations ahead, if there is room.
  const Decision tight = Paged(net.graph, 9 * kUnit);
  ASSERT_EQ(tight.tensors[0].gaps.size(), 1u);
  EXPECT_EQ(tight.tensors[0].gaps[0].prefetch, 6);
  const Stack roomy({4, 4, 4, 4});
  const Decision ahead = Paged(roomy.graph, 12 * kUnit);
  ASSERT_EQ(ahead.tensors[0].gaps.size(), 1u);
  EXPECT_EQ(ahead.tensors[0].gaps[0].prefetch, 5);
}

TEST(PageWithin, KeepsHeadroomForWhatComesBack) {
  const Stack net({4, 4, 4, 4});
  const Decision decision = Paged(net.graph, 12 * kUnit, 4 * kUnit);
  EXPECT_EQ(decision.tensors[0].gaps.size(), 1u);
  EXPECT_EQ(decision.tensors[1].gaps.size(), 1u);
  EXPECT_LE(PeakLoad(net.graph, decision), 12 * kUnit);
}

TEST(PageWithin, LetsATensorLeaveTwice) {
  HandMade net;
  const TensorId a = net.Add("a", 4), b = net.Add("b", 4), c = net.Add("c", 4);
  net.Forward("a/forward", Uses({}, {a}));
  net.Forward("b/forward", Uses({}, {b}));
  net.Forward("b/again", Uses({b}, {}));
  net.Backward("a/first", Uses({a}, {}));
  net.Backward("c/backward", Uses({}, {c}));
  net.Backward("c/again", Uses({c}, {}));
  net.Backward("a/second", Uses({a}, {}));
  const Decision decision = Paged(net.graph, 4 * kUnit);
  EXPECT_EQ(decision.tensors[a].gaps.size(), 2u);
  const Result<Plan> plan = Schedule(net.graph, decision);
  ASSERT_TRUE(plan.ok()) << plan.status().message;
  EXPECT_EQ(plan.value().device_bytes, 4 * kUnit);
}

TEST(PageWithin, KeepsRandomGraphsWithinTheRoomOrTheirWorkingSets) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    Graph graph = testing::RandomGraph(seed, 12);
    // After their last use these stay where they are.
    for (Tensor& tensor : graph.tensors) tensor.keep = false;
    const Decision decision = InSmallestForms(graph);
    const UseLists uses = FindUses(graph, decision.runs);
    const int64_t all = PeakLoad(graph, decision);
    Decision least = decision;
    PageWithin(graph, Unit(), uses, 0, 0, &least);
    const Result<Plan> smallest = Schedule(graph, least);
    ASSERT_TRUE(smallest.ok()) << smallest.status().message;
    const int64_t sets = FindPeak(graph, smallest.value()).bytes - PersistentBytes(graph);
    for (const int64_t room : {all, (all + sets) / 2, sets}) {
      Decision paged = decision;
      PageWithin(graph, Unit(), uses, room, 0, &paged);
      const Result<Plan> plan = Schedule(graph, paged);
      ASSERT_TRUE(plan.ok()) << plan.status().message;
      EXPECT_LE(FindPeak(graph, plan.value()).bytes - PersistentBytes(graph), room) << seed;
    }
  }
}

}  // namespace
}  // namespace layrub
