#include <gtest/gtest.h>
#include <pthread.h>

#include <algorithm>
#include <string>
#include <vector>

#include "layrub/placement/cost/live_bytes.hpp"
#include "layrub/placement/ir/lifetimes.hpp"
#include "layrub/placement/ir/program.hpp"
#include "layrub/placement/search/frugal_variants.hpp"
#include "layrub/placement/search/greedy.hpp"
#include "layrub/placement/test/hand_made.hpp"

namespace layrub::placement::search {
namespace {

using testing::HandMade;
using testing::LinkMachine;
using testing::Uses;

constexpr int64_t kUnit = kAlignment;

/// x, of 8 units, is needed by its backward operation; y and z need 16 in between. Each operation
/// takes a second.
class Away : public HandMade {
 public:
  Away() {
    y = Add("y", 8), z = Add("z", 8), x = Add("x", 8);
    Forward("x/forward", Uses({}, {x}));
    Forward("y/forward", Uses({}, {y}));
    Forward("z/forward", Uses({y}, {z}));
    Backward("x/backward", Uses({x}, {}));
    for (Op& op : graph.ops) op.variants[0].flops = 1;
    graph.ops[0].repeatable = true;
  }
  TensorId x, y, z;
};

Program Within(const Graph& graph, const Machine& machine, int64_t units,
               const GreedyPolicy& policy = {}) {
  const Start start = InFrugalVariants(graph, 0);
  return EvictGreedily(graph, machine, start, units * kUnit, policy).value();
}

bool RunsAgain(const Program& program, OpId op) {
  return std::any_of(program.runs.begin(), program.runs.end(),
                     [op](const Run& run) { return run.recompute && run.op == op; });
}

bool ComesBack(const Program& program, TensorId t) {
  const ShortList<Eviction>& evictions = program.tensors[t].evictions;
  return std::any_of(evictions.begin(), evictions.end(),
                     [](const Eviction& eviction) { return !eviction.dropped; });
}

TEST(EvictGreedily, EvictsNothingIfEverythingFits) {
  const Away net;
  const Program program = Within(net.graph, LinkMachine(1), 24);
  EXPECT_EQ(program.runs.size(), net.graph.ops.size());
  for (const TensorProgram& tensor : program.tensors) EXPECT_TRUE(tensor.evictions.empty());
}

TEST(EvictGreedily, CopiesOrRecomputesWhicheverIsFaster) {
  const Away net;
  const Program again = Within(net.graph, LinkMachine(1), 16);  // 8 s beside 1 s
  EXPECT_TRUE(RunsAgain(again, 0));
  EXPECT_FALSE(ComesBack(again, net.x));
  const Program copied = Within(net.graph, LinkMachine(80), 16);  // 0.1 s
  EXPECT_FALSE(RunsAgain(copied, 0));
  EXPECT_TRUE(ComesBack(copied, net.x));
}

TEST(EvictGreedily, OnlyCopiesWithoutRematerialization) {
  const Away net;
  const Program program = Within(net.graph, LinkMachine(1), 16, {.rematerialize = false});
  EXPECT_FALSE(RunsAgain(program, 0));
  EXPECT_TRUE(ComesBack(program, net.x));
}

/// A chain of layers whose activations and gradients have 8 units each.
Graph Chain(int layers) {
  HandMade net;
  std::vector<TensorId> x, grad;
  for (int i = 0; i <= layers; ++i) x.push_back(net.Add("x" + std::to_string(i), 8));
  for (int i = 0; i <= layers; ++i) grad.push_back(net.Add("g" + std::to_string(i), 8));
  net.Forward("data", Uses({}, {x[0]}));
  for (int i = 0; i < layers; ++i) net.Forward("f" + std::to_string(i), Uses({x[i]}, {x[i + 1]}));
  net.Backward("loss", Uses({x[layers]}, {grad[layers]}));
  for (int i = layers - 1; i >= 0; --i)
    net.Backward("b" + std::to_string(i), Uses({x[i], grad[i + 1]}, {grad[i]}));
  for (Op& op : net.graph.ops) {
    op.variants[0].flops = 1;
    op.repeatable = op.pass == Pass::kForward && op.name != "data";
  }
  return net.graph;
}

TEST(EvictGreedily, StaysWithinItsCapacity) {
  const Graph graph = Chain(12);
  for (int64_t units = 24; units <= 8 * 14; units += 8) {
    for (const double speed : {1.0, 80.0}) {
      const Program program = Within(graph, LinkMachine(speed), units);
      const Lifetimes lives = FindLifetimes(graph, program).value();
      EXPECT_LE(cost::PeakLiveBytes(lives, program.runs.size()), units * kUnit) << speed;
    }
  }
}

/// Operations take no time and the link is extremely slow, so for each evicted tensor the search
/// considers a recomputation of the whole chain down to the data. Recursion would need one call for
/// each layer.
TEST(EvictGreedily, HandlesChainsOfAnyLengthOnASmallStack) {
  Graph graph = Chain(15000);
  for (Op& op : graph.ops) op.variants[0].flops = 0;
  pthread_attr_t small;
  pthread_attr_init(&small);
  pthread_attr_setstacksize(&small, size_t{1536} << 10);
  pthread_t thread;
  const auto run = [](void* of) -> void* {
    const Graph& chain = *static_cast<const Graph*>(of);
    const auto program =
        EvictGreedily(chain, LinkMachine(1e-6), InFrugalVariants(chain, 0), 400 * kUnit, {});
    EXPECT_TRUE(!program || program->runs.size() >= chain.ops.size());
    return nullptr;
  };
  ASSERT_EQ(pthread_create(&thread, &small, run, &graph), 0);
  pthread_join(thread, nullptr);
  pthread_attr_destroy(&small);
}

}  // namespace
}  // namespace layrub::placement::search
