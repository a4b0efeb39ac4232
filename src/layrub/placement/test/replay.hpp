#ifndef LAYRUB_PLACEMENT_TEST_REPLAY_HPP_
#define LAYRUB_PLACEMENT_TEST_REPLAY_HPP_

#include <cstdint>
#include <string>

#include "layrub/placement/ir/graph.hpp"
#include "layrub/placement/ir/plan.hpp"

namespace layrub::testing {

/// Runs `plan` on two arrays that stand for the arenas: operations and copies move numbers that
/// stand for values, each step reading and writing its operands one by one, the lanes interleaved
/// in an order drawn from `seed`, as far as Waits allow. Returns "" or the first read that found
/// another number than an iteration without any plan would have produced. Knows nothing of ranges
/// that live or of orders that are proved: the opposite approach to Check. Requires a plan all of
/// whose steps find the ranges they name.
std::string Replay(const Graph& graph, const Plan& plan, uint64_t seed);

}  // namespace layrub::testing

#endif  // LAYRUB_PLACEMENT_TEST_REPLAY_HPP_
