#ifndef LAYRUB_PLACEMENT_IR_PROGRAM_HPP_
#define LAYRUB_PLACEMENT_IR_PROGRAM_HPP_

#include <vector>

#include "layrub/base/status.hpp"
#include "layrub/placement/ir/decision.hpp"
#include "layrub/placement/ir/graph.hpp"

namespace layrub::placement {

/// Ok if `runs` is a program for `graph` as Decision::runs demands, aliases aside; otherwise
/// kInvalid naming the operation and what is wrong with its run.
Status CheckProgram(const Graph& graph, const std::vector<Run>& runs);

}  // namespace layrub::placement

#endif  // LAYRUB_PLACEMENT_IR_PROGRAM_HPP_
