#ifndef LAYRUB_PLACEMENT_TEST_REPLAY_HPP_
#define LAYRUB_PLACEMENT_TEST_REPLAY_HPP_

#include <cstdint>
#include <string>

#include "layrub/placement/ir/graph.hpp"
#include "layrub/placement/ir/plan.hpp"

namespace layrub::testing {

/// Runs `plan` on arrays that stand for the arenas. Operations and copies move numbers that stand
/// for values. Each step reads and writes its operands one by one, and the lanes are interleaved in
/// an order drawn from `seed`, as far as Waits allow. Returns "", or the first read that found
/// another number than an iteration without a plan would have produced. In contrast to Check it
/// knows nothing of live ranges or of orders between steps. All steps of the plan must find the
/// ranges that they name.
std::string Replay(const Graph& graph, const Plan& plan, uint64_t seed);

}  // namespace layrub::testing

#endif  // LAYRUB_PLACEMENT_TEST_REPLAY_HPP_
