#ifndef LAYRUB_PLACEMENT_SCHEDULE_PAGED_WAITS_HPP_
#define LAYRUB_PLACEMENT_SCHEDULE_PAGED_WAITS_HPP_

#include <cstdint>

#include "layrub/placement/ir/graph.hpp"
#include "layrub/placement/ir/plan.hpp"

namespace layrub::placement::schedule {

/// Inserts the Waits that `plan`, which has no Moves, would need on a device of `bytes` on which
/// tensors lie in pages: each takes the bytes that were given back first, wherever they are.
/// Offsets of ranges do not matter. With them, Simulate tells about how long the plan takes once it
/// is packed into `bytes`, but is not a bound. False if more bytes live at some moment.
bool AddPagedWaits(const Graph& graph, int64_t bytes, Plan* plan);

}  // namespace layrub::placement::schedule

#endif  // LAYRUB_PLACEMENT_SCHEDULE_PAGED_WAITS_HPP_
