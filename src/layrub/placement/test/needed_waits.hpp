#ifndef LAYRUB_PLACEMENT_TEST_NEEDED_WAITS_HPP_
#define LAYRUB_PLACEMENT_TEST_NEEDED_WAITS_HPP_

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "layrub/placement/check/check.hpp"
#include "layrub/placement/test/hand_made.hpp"
#include "layrub/placement/test/mutate.hpp"
#include "layrub/placement/test/replay.hpp"
#include "layrub/placement/test/small_plan.hpp"

namespace layrub::testing {

/// The steps that the Waits immediately before step `index` wait for, as text.
inline std::vector<std::string> WaitsBefore(const Graph& graph, const Plan& plan, size_t index) {
  const std::vector<std::string> steps = Steps(graph, plan);
  std::vector<std::string> waits;
  for (; index > 0 && plan.steps[index - 1].kind == StepKind::kWait; --index)
    waits.push_back(steps[plan.steps[index - 1].step]);
  return waits;
}

/// Expects that `plan` passes Check, gives the right values, and needs each of its Waits.
inline void ExpectRight(const Graph& graph, const Plan& plan) {
  EXPECT_EQ(Join(Check(graph, plan)), "");
  for (uint64_t seed = 0; seed < 100; ++seed) EXPECT_EQ(Replay(graph, plan, seed), "");
  for (int32_t i = 0; i < static_cast<int32_t>(plan.steps.size()); ++i) {
    if (plan.steps[i].kind != StepKind::kWait) continue;
    const Plan without = mutate::Without(plan, i);
    EXPECT_NE(Join(Check(graph, without)), "") << "step " << i;
    bool shows = false;
    for (uint64_t seed = 0; seed < 2000 && !shows; ++seed)
      shows = !Replay(graph, without, seed).empty();
    EXPECT_TRUE(shows) << "step " << i;
  }
}

}  // namespace layrub::testing

#endif  // LAYRUB_PLACEMENT_TEST_NEEDED_WAITS_HPP_
