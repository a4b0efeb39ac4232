#include <gtest/gtest.h>

#include <numeric>

#include "layrub/placement/ir/program.hpp"
#include "layrub/placement/schedule/schedule.hpp"
#include "layrub/placement/search/stalls.hpp"
#include "layrub/placement/strategies/strategies.hpp"
#include "layrub/placement/test/hand_made.hpp"
#include "layrub/placement/test/random_graph.hpp"
#include "layrub/placement/test/random_program.hpp"

namespace layrub::placement {
namespace {

using testing::HandMade;
using testing::LinkMachine;
using testing::Uses;

std::vector<double> Stalls(const Graph& graph, const Plan& plan, const Machine& machine) {
  return search::StallsByTensor(graph, plan, Simulate(graph, plan, machine));
}

TEST(Stalls, CountForTheTensorWhoseCopyWasWaitedFor) {
  HandMade net;
  const TensorId x = net.Add("x", 4), y = net.Add("y", 4), z = net.Add("z", 4);
  net.Forward("x/forward", Uses({}, {x}));
  net.Forward("y/forward", Uses({x}, {y}));
  net.Forward("z/forward", Uses({y}, {z}));
  net.Backward("x/backward", Uses({x}, {}));
  for (Op& op : net.graph.ops) op.variants[0].flops = 1;
  Program program =
      strategies::FindStrategy("liveness").value()(net.graph, LinkMachine(1), {}).value().program;
  // Evicted from after y's forward until x's backward: 4 s down beside z's second, then 4 s up.
  program.tensors[x].evictions = {{1, 1, 3, 3, false}};
  const Plan plan = schedule::Schedule(net.graph, program).value();
  const std::vector<double> stalls = Stalls(net.graph, plan, LinkMachine(1));
  EXPECT_DOUBLE_EQ(stalls[x], 3 + 4);
  EXPECT_DOUBLE_EQ(stalls[y], 0);
  EXPECT_DOUBLE_EQ(stalls[z], 0);
}

TEST(Stalls, AddUpToTheTimeThatOperationsWaited) {
  for (uint64_t seed = 0; seed < 100; ++seed) {
    const Graph graph = testing::RandomGraph(seed, 12);
    const Plan plan = schedule::Schedule(graph, testing::RandomProgram(graph, seed, false),
                                         testing::RandomPacking(seed))
                          .value();
    for (const Machine& machine : {LinkMachine(1), FindMachine("k40").value()}) {
      const Timeline timeline = Simulate(graph, plan, machine);
      const std::vector<double> stalls = search::StallsByTensor(graph, plan, timeline);
      const double sum = std::accumulate(stalls.begin(), stalls.end(), 0.0);
      EXPECT_NEAR(sum, timeline.stalled, 1e-9 * timeline.seconds) << seed;
    }
  }
}

TEST(Returns, AreStallsPlusRecomputations) {
  HandMade net;
  const TensorId x = net.Add("x", 4), y = net.Add("y", 4);
  net.Forward("x/forward", Uses({}, {x}));
  net.Forward("y/forward", Uses({}, {y}));
  net.Backward("y/backward", Uses({y}, {}));
  net.Backward("x/backward", Uses({x}, {}));
  for (Op& op : net.graph.ops) op.variants[0].flops = 1;
  net.graph.ops[0].repeatable = true;
  Program program =
      strategies::FindStrategy("liveness").value()(net.graph, LinkMachine(1), {}).value().program;
  placement::Run again = program.runs[0];
  again.recompute = true;
  program.runs.insert(program.runs.begin() + 3, again);
  program.tensors[x].evictions = {{0, 0, 3, 3, true}};   // computed again
  program.tensors[y].evictions = {{1, 1, 2, 2, false}};  // 4 s down, 4 s up
  const Plan plan = schedule::Schedule(net.graph, program).value();
  const Timeline timeline = Simulate(net.graph, plan, LinkMachine(1));
  const std::vector<double> returns = search::ReturnsByTensor(net.graph, plan, timeline);
  EXPECT_DOUBLE_EQ(returns[x], 1);
  EXPECT_DOUBLE_EQ(returns[y], 4 + 4);
}

}  // namespace
}  // namespace layrub::placement
