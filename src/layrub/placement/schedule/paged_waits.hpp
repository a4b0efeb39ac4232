#ifndef LAYRUB_PLACEMENT_SCHEDULE_PAGED_WAITS_HPP_
#define LAYRUB_PLACEMENT_SCHEDULE_PAGED_WAITS_HPP_

#include <cstdint>

#include "layrub/placement/ir/graph.hpp"
#include "layrub/placement/ir/plan.hpp"

namespace layrub::placement::schedule {

/// Inserts the Waits that `plan`, which has no Moves, would need on a device of `bytes` bytes on
/// which tensors lie in pages: each tensor takes the bytes that have been free longest, wherever
/// they are. Offsets of ranges are ignored. Simulate then gives about the time that the plan takes
/// once it is packed into `bytes`; that is not a bound. Returns false if more bytes live at some
/// moment.
bool AddPagedWaits(const Graph& graph, int64_t bytes, Plan* plan);

}  // namespace layrub::placement::schedule

#endif  // LAYRUB_PLACEMENT_SCHEDULE_PAGED_WAITS_HPP_
