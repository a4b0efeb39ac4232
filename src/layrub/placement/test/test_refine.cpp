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
  const Decision all = DefaultDecision(graph);
  const int64_t peak = cost::PeakLiveBytes(FindLifetimes(graph, all).value(), all.runs.size());
  return std::max(FloorBytes(graph) + (peak - FloorBytes(graph)) / 3, peak / 2);
}

TEST(Refine, TakesEverFasterDecisionsWhosePlansFitAndAreProved) {
  const Machine machine = LinkMachine(1000);
  int taken = 0;
  for (uint64_t seed = 0; seed < 12; ++seed) {
    const Graph graph = testing::RandomGraph(seed, 30);
    const int64_t bytes = BytesFor(graph);
    double fastest = std::numeric_limits<double>::infinity();
    const auto take = [&](const Decision& decision) {
      const Plan plan = schedule::Schedule(graph, decision).value();
      EXPECT_LE(plan.device_bytes, bytes) << graph.name;
      EXPECT_EQ(Check(graph, plan), std::vector<std::string>{}) << graph.name;
      const double seconds = Simulate(graph, plan, machine).seconds;
      EXPECT_LT(seconds, fastest) << graph.name;
      fastest = seconds;
      ++taken;
      return seconds;
    };
    Refine(graph, machine, bytes, {ResidencyOf(graph, DefaultDecision(graph))}, kSteps, fastest,
           take);
  }
  EXPECT_GT(taken, 6);
}

TEST(Refine, TakesNothingThatIsNotFasterThanWhatThereIs) {
  const Graph graph = testing::RandomGraph(1, 30);
  const auto take = [](const Decision&) -> double {
    ADD_FAILURE() << "nothing takes no time";
    return 0;
  };
  Refine(graph, LinkMachine(1000), BytesFor(graph), {ResidencyOf(graph, DefaultDecision(graph))},
         kSteps, 0, take);
  Refine(graph, LinkMachine(1000), BytesFor(graph), {}, kSteps, 1e9, take);
}

}  // namespace
}  // namespace layrub::placement::search
