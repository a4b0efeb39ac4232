#ifndef LAYRUB_PLACEMENT_IR_PROGRAM_HPP_
#define LAYRUB_PLACEMENT_IR_PROGRAM_HPP_

#include <cstdint>
#include <vector>

#include "layrub/base/status.hpp"
#include "layrub/placement/ir/decision.hpp"
#include "layrub/placement/ir/graph.hpp"

namespace layrub::placement {

/// Whether `op` is of a kind that may run again for what was dropped: a repeatable forward.
bool MayRunAgain(const Op& op);
/// Whether `form` with variant `scratch` of its workspace promises the same bits each time.
bool IsDeterministic(const Form& form, int32_t scratch);

/// Ok if `runs` is a program for `graph` as Decision::runs demands, aliases aside; otherwise
/// kInvalid naming the operation and what is wrong with its run.
Status CheckProgram(const Graph& graph, const std::vector<Run>& runs);

}  // namespace layrub::placement

#endif  // LAYRUB_PLACEMENT_IR_PROGRAM_HPP_
