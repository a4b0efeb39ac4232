#ifndef LAYRUB_PLACEMENT_SCHEDULE_PLACE_RANGES_HPP_
#define LAYRUB_PLACEMENT_SCHEDULE_PLACE_RANGES_HPP_

#include <cstdint>

#include "layrub/placement/ir/decision.hpp"
#include "layrub/placement/ir/graph.hpp"
#include "layrub/placement/ir/lifetimes.hpp"
#include "layrub/placement/ir/plan.hpp"
#include "layrub/placement/schedule/emit_steps.hpp"

namespace layrub::placement::schedule {

/// The plan of `emitted`, which is EmitSteps(graph, decision, lives), with its ranges packed: sets
/// offsets and the sizes of both arenas, and adds the Moves that packing between runs asks for.
/// Persistent tensors lie at the bottom: their bytes are the ones that hold between iterations.
/// `padding` bytes are left between ranges.
Plan PlaceRanges(const Graph& graph, const Decision& decision, const Lifetimes& lives,
                 Emitted emitted, int64_t padding);

}  // namespace layrub::placement::schedule

#endif  // LAYRUB_PLACEMENT_SCHEDULE_PLACE_RANGES_HPP_
