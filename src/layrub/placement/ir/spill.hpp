#ifndef LAYRUB_PLACEMENT_IR_SPILL_HPP_
#define LAYRUB_PLACEMENT_IR_SPILL_HPP_

#include <cstdint>

#include "layrub/placement/ir/decision.hpp"
#include "layrub/placement/ir/graph.hpp"
#include "layrub/placement/ir/lifetimes.hpp"

namespace layrub::placement {

/// Chooses the tier of each host stay: no more than `host_bytes` are in host memory at a time, and
/// the others go to the file. Those stay in memory that use it best: the most copies for the time
/// that they take it. A value that waits for long, such as history between two updates, goes to the
/// file first.
void SpillStays(const Graph& graph, const Decision& decision, int64_t host_bytes, Lifetimes* lives);

}  // namespace layrub::placement

#endif  // LAYRUB_PLACEMENT_IR_SPILL_HPP_
