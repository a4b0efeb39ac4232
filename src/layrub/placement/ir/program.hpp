#ifndef LAYRUB_PLACEMENT_IR_PROGRAM_HPP_
#define LAYRUB_PLACEMENT_IR_PROGRAM_HPP_

#include <cstdint>
#include <vector>

#include "layrub/base/status.hpp"
#include "layrub/placement/ir/decision.hpp"
#include "layrub/placement/ir/graph.hpp"

namespace layrub::placement {

/// Whether `op` may be recomputed: a repeatable forward operation that runs a layer.
bool IsRecomputable(const Op& op);
/// Whether `algorithm` of `variant` gives the same bits each time.
bool IsDeterministic(const Variant& variant, int32_t algorithm);

/// Checks that `runs` is a program for `graph` as Decision::runs demands; aliases are not checked.
/// Returns kInvalid naming the operation and what is wrong with its run.
Status CheckProgram(const Graph& graph, const std::vector<Run>& runs);

}  // namespace layrub::placement

#endif  // LAYRUB_PLACEMENT_IR_PROGRAM_HPP_
