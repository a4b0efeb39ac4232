#include "layrub/placement/schedule/schedule.hpp"
#include "layrub/placement/search/refine.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include "layrub/placement/check/check.hpp"
#include "layrub/placement/cost/live_bytes.hpp"
#include "layrub/placement/cost/timeline.hpp"
#include "layrub/placement/ir/lifetimes.hpp"
#include "layrub/placement/ir/uses.hpp"
#include "layrub/placement/test/hand_made.hpp"
#include "layrub/placement/test/random_graph.hpp"

namespace layrub::placement::search {
namespace {

using testing::LinkMachine;

constexpr int64_t kSteps = 60;

int64_t BytesFor(const Graph& graph) {
  const Program all = DefaultProgram(graph);
  const int64_t peak = cost::PeakLiveBytes(FindLifetimes(graph, all).value(), all.runs.size());
  return std::max(FloorBytes(graph) + (peak - FloorBytes(graph)) / 3, peak / 2);
}

TEST(Refine, FindsFasterProgramsThatFitAndPassTheCheck) {
  const Machine machine = LinkMachine(1000);
  int found = 0;
  for (uint64_t seed = 0; seed < 12; ++seed) {
    const Graph graph = testing::RandomGraph(seed, 30);
    const int64_t bytes = BytesFor(graph);
    const std::vector<Draft> starts{MakeDraft(graph, DefaultProgram(graph))};
    double most = std::numeric_limits<double>::infinity();
    while (const auto packed = Refine(graph, machine, {bytes}, starts, kSteps, most, {})) {
      const Plan plan = schedule::Schedule(graph, packed->program, packed->options).value();
      EXPECT_EQ(plan, packed->plan) << graph.name;
      EXPECT_LE(plan.device_bytes, bytes) << graph.name;
      EXPECT_EQ(Check(graph, plan), std::vector<std::string>{}) << graph.name;
      const double seconds = Simulate(graph, plan, machine).seconds;
      ASSERT_LT(seconds, most) << graph.name;
      most = seconds;
      ++found;
    }
  }
  EXPECT_GT(found, 6);
}

TEST(Refine, ReturnsNothingIfNoProgramIsFaster) {
  const Graph graph = testing::RandomGraph(1, 30);
  const std::vector<Draft> starts{MakeDraft(graph, DefaultProgram(graph))};
  const Machine machine = LinkMachine(1000);
  EXPECT_TRUE(Refine(graph, machine, {BytesFor(graph)}, starts, kSteps, 1e9, {}).has_value());
  EXPECT_FALSE(Refine(graph, machine, {BytesFor(graph)}, starts, kSteps, 0, {}).has_value());
  EXPECT_FALSE(Refine(graph, machine, {BytesFor(graph)}, {}, kSteps, 1e9, {}).has_value());
}

TEST(Refine, IsReproducibleForASeed) {
  const Graph graph = testing::RandomGraph(3, 30);
  const std::vector<Draft> starts{MakeDraft(graph, DefaultProgram(graph))};
  const auto with = [&](uint32_t seed) {
    return Refine(graph, LinkMachine(1000), {BytesFor(graph)}, starts, kSteps, 1e9, {.seed = seed});
  };
  EXPECT_EQ(with(7)->program.runs, with(7)->program.runs);
  EXPECT_EQ(with(7)->program.tensors.size(), graph.tensors.size());
}

}  // namespace
}  // namespace layrub::placement::search
