#include "layrub/placement/search/evaluate.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <vector>

#include "layrub/placement/cost/live_bytes.hpp"
#include "layrub/placement/cost/run_starts.hpp"
#include "layrub/placement/ir/lifetimes.hpp"
#include "layrub/placement/ir/program.hpp"
#include "layrub/placement/schedule/schedule.hpp"
#include "layrub/placement/test/hand_made.hpp"
#include "layrub/placement/test/random_graph.hpp"
#include "layrub/placement/test/random_program.hpp"

namespace layrub::placement::search {
namespace {

using testing::HandMade;
using testing::LinkMachine;
using testing::Uses;

Outcome EvaluateIn(const Graph& graph, const Machine& machine, int64_t capacity, Program* program) {
  const Lifetimes lives = FindLifetimes(graph, *program).value();
  return Evaluate(graph, machine, capacity, lives, cost::LiveBytes(lives, program->runs.size()),
                  program);
}

/// x, y and z, of 4 units each; x is evicted from after y's forward until its backward. Each
/// operation takes a second, and each copy four.
class EvictedX : public ::testing::Test {
 protected:
  EvictedX() {
    net_.Forward("x/forward", Uses({}, {x_}));
    net_.Forward("y/forward", Uses({x_}, {y_}));
    net_.Forward("z/forward", Uses({y_}, {z_}));
    net_.Backward("z/backward", Uses({z_}, {}));
    net_.Backward("x/backward", Uses({x_}, {}));
    for (Op& op : net_.graph.ops) op.variants[0].flops = 1;
    net_.graph.ops[0].repeatable = true;
    program_ = DefaultProgram(net_.graph);
    program_.tensors[x_].evictions = {{1, 1, 4, 4, false}};
  }
  Outcome In(int64_t units) {
    return EvaluateIn(net_.graph, LinkMachine(1), units * kAlignment, &program_);
  }
  HandMade net_;
  const TensorId x_ = net_.Add("x", 4), y_ = net_.Add("y", 4), z_ = net_.Add("z", 4);
  Program program_;
};

TEST_F(EvictedX, IsWaitedForInBothDirections) {
  // Down from second 1, when it is written, to 5, while z's forward waits, as its bytes are
  // missing; up from 6, when y is free.
  const Outcome outcome = In(8);
  EXPECT_EQ(outcome.starts, (std::vector<double>{0, 1, 5, 6, 10, 11}));
  EXPECT_DOUBLE_EQ(outcome.seconds, 11);
  EXPECT_DOUBLE_EQ(outcome.returns[x_], 3 + 3);
  EXPECT_EQ(program_.tensors[x_].evictions[0], (Eviction{1, 1, 3, 4, false}));
}

TEST_F(EvictedX, IsHeldUntilItsCopyHasEndedIfItFits) {
  // Down from second 1 to 5 beside y's and z's operations; only then can it come back.
  const Outcome outcome = In(12);
  EXPECT_DOUBLE_EQ(outcome.starts[3], 3);
  EXPECT_DOUBLE_EQ(outcome.seconds, 10);
  EXPECT_DOUBLE_EQ(outcome.returns[x_], 1 + 4);
  EXPECT_EQ(program_.tensors[x_].evictions[0].release, 3);
}

TEST_F(EvictedX, IsWaitedForBehindTheCopiesBeforeIt) {
  // z goes to the host and back, too: each copy waits for that of x.
  program_.tensors[z_].evictions = {{2, 2, 3, 3, false}};
  const Outcome outcome = In(8);
  EXPECT_NEAR(outcome.returns[x_] + outcome.returns[z_],
              outcome.seconds - static_cast<double>(net_.graph.ops.size()), 1e-9);
  EXPECT_GT(outcome.returns[z_], 4);
}

TEST_F(EvictedX, ReturnsByRecomputation) {
  placement::Run again = program_.runs[0];
  again.recompute = true;
  program_.runs.insert(program_.runs.begin() + 4, again);
  program_.tensors[x_].evictions = {{1, 1, 4, 4, true}};
  const Outcome outcome = In(8);
  EXPECT_DOUBLE_EQ(outcome.seconds, 6);
  EXPECT_DOUBLE_EQ(outcome.returns[x_], 1);
}

TEST(Evaluate, IssuesCopiesOfRandomProgramsAsEarlyAsFits) {
  int earlier = 0, faster = 0;
  for (uint64_t seed = 0; seed < 100; ++seed) {
    const Graph graph = testing::RandomGraph(seed, 20);
    const Machine machine = LinkMachine(500);
    const Program before = WithoutTimes(testing::RandomProgram(graph, seed, /*reckless=*/false));
    const auto peak = [&](const Program& program) {
      return cost::PeakLiveBytes(FindLifetimes(graph, program).value(), program.runs.size());
    };
    const int64_t capacity = peak(before) * 5 / 4;
    Program after = before;
    const Outcome outcome = EvaluateIn(graph, machine, capacity, &after);
    EXPECT_LE(peak(after), capacity) << seed;
    for (size_t t = 0; t < before.tensors.size(); ++t) {
      for (size_t i = 0; i < before.tensors[t].evictions.size(); ++i) {
        const Eviction &old = before.tensors[t].evictions[i], now = after.tensors[t].evictions[i];
        EXPECT_LE(old.release, now.release) << seed;
        EXPECT_GE(old.prefetch, now.prefetch) << seed;
        earlier += now.prefetch < old.prefetch;
      }
    }
    // What waits, waits for some copy.
    double busy = cost::RunStarts(graph, machine, after.runs).back();
    double recomputed = 0;
    for (const placement::Run& run : after.runs) {
      for (const TensorId t : VariantOf(graph, run).reads) {
        if (after.tensors[t].home != StateHome::kInPlace) continue;
        const auto bytes = static_cast<double>(graph.tensors[t].bytes);
        busy += bytes / machine.link_up + bytes / machine.link_down;
      }
      if (run.recompute)
        recomputed += static_cast<double>(VariantOf(graph, run).writes.size()) *
                      OpSeconds(graph.ops[run.op], run.variant, run.algorithm, machine);
    }
    EXPECT_NEAR(std::accumulate(outcome.returns.begin(), outcome.returns.end(), 0.0),
                outcome.starts.back() - busy + recomputed, 1e-9 * outcome.seconds)
        << seed;
    const auto simulated = [&](const Program& program) {
      const Plan plan = schedule::Schedule(graph, program).value();
      return Simulate(graph, plan, machine).seconds;
    };
    faster += simulated(after) < simulated(before);
  }
  EXPECT_GT(earlier, 20);
  EXPECT_GT(faster, 20);
}

}  // namespace
}  // namespace layrub::placement::search
