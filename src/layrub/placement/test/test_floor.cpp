#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

#include "layrub/placement/cost/floor.hpp"
#include "layrub/placement/ir/operands.hpp"
#include "layrub/placement/search/homes.hpp"
#include "layrub/placement/test/hand_made.hpp"

namespace layrub::placement {
namespace {

using testing::Chain;
using testing::HandMade;
using testing::Uses;

TEST(Floor, IsStateBytesPlusTheLargestWorkingSet) {
  HandMade net;
  const TensorId w = net.Add("w", 3, Role::kParameter);
  const TensorId x = net.Add("x", 4);
  const TensorId y = net.Add("y", 2);
  net.Forward("data/forward", Uses({}, {x}));
  net.Forward("layer/forward", Uses({x, w}, {y}));
  EXPECT_EQ(FloorBytes(net.graph), (3 + 4 + 2) * kAlignment);
  EXPECT_EQ(FloorOp(net.graph), 1);
}

constexpr int64_t kHost = std::numeric_limits<int64_t>::max();

TEST(Floor, CountsOnlyTheStateInUseIfStateMayLeave) {
  HandMade net;
  const TensorId input = net.Add("input", 1, Role::kUser);
  const TensorId v = net.Add("v", 3, Role::kParameter);
  const TensorId w = net.Add("w", 5, Role::kParameter);
  const TensorId history = net.Add("w.history", 5, Role::kHistory);
  const TensorId x = net.Add("x", 4);
  const TensorId y = net.Add("y", 2);
  net.Forward("first/forward", Uses({input, v}, {x}));
  net.Forward("second/forward", Uses({x, w}, {y}));
  net.Run("w/update", Pass::kUpdate, {Uses({w, history}, {w, history})}, OpKind::kUpdate);
  EXPECT_EQ(FloorBytes(net.graph), (1 + 3 + 5 + 5 + 4 + 2) * kAlignment);
  EXPECT_EQ(StateFloorBytes(net.graph), (1 + 5 + 4 + 2) * kAlignment);
  EXPECT_EQ(StateFloorOp(net.graph), 1);
  // History leaves first, then the larger of the parameters; what users write stays.
  const auto names = [&](const cost::Homes& homes) {
    std::string names;
    for (size_t t = 0; t < homes.size(); ++t) {
      if (homes[t] != StateHome::kDevice) names += net.graph.tensors[t].name + " ";
    }
    return names;
  };
  std::vector<std::string> choices;
  for (const cost::Homes& homes : search::ChooseHomes(net.graph, 17 * kAlignment, kHost))
    choices.push_back(names(homes));
  EXPECT_EQ(choices, (std::vector<std::string>{"w.history ", "w w.history ", "v w w.history "}));
  EXPECT_TRUE(search::ChooseHomes(net.graph, StateFloorBytes(net.graph) - 1, kHost).empty());
  EXPECT_EQ(search::ChooseHomes(net.graph, StateFloorBytes(net.graph), kHost).size(), 1U);
}

TEST(Floor, LargeUpdatesUseTheirHistoryInHostMemory) {
  HandMade net;
  const TensorId w = net.Add("w", 5, Role::kParameter);
  const TensorId w_history = net.Add("w.history", 5, Role::kHistory);
  const TensorId v = net.Add("v", 1, Role::kParameter);
  const TensorId v_history = net.Add("v.history", 1, Role::kHistory);
  const TensorId x = net.Add("x", 2);
  net.Forward("forward", Uses({w, v}, {x}));
  net.Run("w/update", Pass::kUpdate, {Uses({w, w_history}, {w, w_history})}, OpKind::kUpdate);
  net.Run("v/update", Pass::kUpdate, {Uses({v, v_history}, {v, v_history})}, OpKind::kUpdate);
  EXPECT_EQ(StateFloorBytes(net.graph), (5 + 5) * kAlignment);
  EXPECT_EQ(StateFloorOp(net.graph), 1);
  for (const TensorId history : {w_history, v_history})
    net.graph.tensors[history].host_access = true;
  EXPECT_EQ(StateFloorBytes(net.graph), (5 + 1 + 2) * kAlignment);
  EXPECT_EQ(StateFloorOp(net.graph), 0);
  const cost::Homes away = cost::AllAway(net.graph);
  EXPECT_EQ(away[w_history], StateHome::kInPlace);
  EXPECT_EQ(away[v_history], StateHome::kAway) << "its update does not set the floor";
  // If host memory is too small, updates use their history on the device.
  const cost::Homes with_file = cost::AllAway(net.graph, 5 * kAlignment - 1);
  EXPECT_EQ(with_file[w_history], StateHome::kAway);
  EXPECT_EQ(cost::FloorBytes(net.graph, with_file), (5 + 5) * kAlignment);
  // Only where the budget requires it.
  for (const cost::Homes& homes : search::ChooseHomes(net.graph, 13 * kAlignment, kHost))
    EXPECT_EQ(homes[w_history], StateHome::kAway);
  for (const cost::Homes& homes : search::ChooseHomes(net.graph, 9 * kAlignment, kHost))
    EXPECT_EQ(homes[w_history], StateHome::kInPlace);
}

TEST(Floor, CountsAnOutputOnItsInputOnce) {
  // c/backward reads b and c and writes b.grad, which may lie on either: 8 units. Without: 12.
  EXPECT_EQ(FloorBytes(Chain().graph), (1 + 8) * kAlignment);
}

TEST(Floor, OfAnEmptyGraphIsZero) {
  EXPECT_EQ(FloorBytes(Graph{}), 0);
  EXPECT_EQ(FloorOp(Graph{}), kNone);
}

TEST(Floor, LetsEachInputCarryOneOutput) {
  HandMade net;
  const TensorId x = net.Add("x", 4);
  const TensorId y = net.Add("y", 4);
  const TensorId z = net.Add("z", 3);
  net.Forward("data/forward", Uses({}, {x}));
  net.Forward("two/forward", Uses({x}, {y, z}, {{y, x}, {z, x}}));
  EXPECT_EQ(FloorBytes(net.graph), (4 + 3) * kAlignment);
}

TEST(Floor, NeverPutsAnOutputOnASmallerInputOrOnState) {
  HandMade net;
  const TensorId w = net.Add("w", 9, Role::kParameter);
  const TensorId x = net.Add("x", 3);
  const TensorId y = net.Add("y", 4);
  net.Forward("data/forward", Uses({}, {x}));
  net.Forward("layer/forward", Uses({x, w}, {y}, {{y, x}, {y, w}}));
  EXPECT_EQ(FloorBytes(net.graph), (9 + 3 + 4) * kAlignment);
}

TEST(Floor, TakesTheCheapestVariantAndTheSmallestWorkspace) {
  HandMade net = Chain();
  const TensorId big = net.Add("big", 50, Role::kWorkspace);
  const TensorId small = net.Add("small", 5, Role::kWorkspace);
  Variant expensive = Uses({0, 1, 2, 3, 4}, {5});
  net.graph.ops[4].variants.push_back(expensive);
  EXPECT_EQ(FloorBytes(net.graph), (1 + 8) * kAlignment);
  net.graph.ops[1].variants[0].algorithms = {{big, 0, true}, {small, 0, true}};
  EXPECT_EQ(FloorBytes(net.graph), (1 + 8 + 5) * kAlignment);
  EXPECT_EQ(FloorOp(net.graph), 1);
}

TEST(Floor, CountsASavedOutputOnlyIfEveryVariantOfItsReaderNeedsIt) {
  HandMade net;
  const TensorId x = net.Add("x", 4);
  const TensorId y = net.Add("y", 4);
  const TensorId mask = net.Add("mask", 3, Role::kSaved);
  const TensorId dy = net.Add("y.grad", 1);
  net.Forward("data/forward", Uses({}, {x}));
  net.Forward("relu/forward", Uses({x}, {y, mask}));
  net.Backward("loss/backward", Uses({}, {dy}));
  net.Run("relu/backward", Pass::kBackward, {Uses({y, dy}, {}), Uses({mask, dy}, {})});
  EXPECT_EQ(FloorBytes(net.graph), 8 * kAlignment);
  net.graph.ops[3].variants.erase(net.graph.ops[3].variants.begin());
  EXPECT_EQ(FloorBytes(net.graph), 11 * kAlignment);
}

TEST(BestAliases, FindsAMaximumMatchingWhereTheFirstChoiceBlocksAnother) {
  HandMade net;
  const TensorId a = net.Add("a", 8);
  const TensorId b = net.Add("b", 8);
  const TensorId large = net.Add("large", 5);
  const TensorId small = net.Add("small", 4);
  // The larger output sees `a` first, but the smaller one can lie on `a` alone.
  const ShortList<AliasPair> best =
      BestAliases(net.graph, ShortList<AliasPair>{{large, a}, {large, b}, {small, a}});
  EXPECT_EQ(best, (ShortList<AliasPair>{{large, b}, {small, a}}));
}

TEST(BestAliases, PrefersTheLargerOfTwoOutputsThatCompete) {
  HandMade net;
  const TensorId a = net.Add("a", 8);
  const TensorId small = net.Add("small", 4);
  const TensorId large = net.Add("large", 5);
  EXPECT_EQ(BestAliases(net.graph, ShortList<AliasPair>{{small, a}, {large, a}}),
            (ShortList<AliasPair>{{large, a}}));
}

TEST(SmallestAlgorithm, IsTheFirstOfTheSmallest) {
  HandMade net;
  const TensorId big = net.Add("big", 3, Role::kWorkspace);
  const TensorId one = net.Add("one", 2, Role::kWorkspace);
  const TensorId two = net.Add("two", 2, Role::kWorkspace);
  Variant variant;
  EXPECT_EQ(SmallestAlgorithm(net.graph, variant), 0);
  EXPECT_EQ(WorkspaceBytes(net.graph, variant, 0), 0);
  variant.algorithms = {{big, 0, true}, {one, 0, true}, {two, 0, true}};
  EXPECT_EQ(SmallestAlgorithm(net.graph, variant), 1);
  EXPECT_EQ(WorkspaceBytes(net.graph, variant, 1), 2 * kAlignment);
  variant.algorithms.push_back({kNone, 0, true});
  EXPECT_EQ(SmallestAlgorithm(net.graph, variant), 3);
}

}  // namespace
}  // namespace layrub::placement
