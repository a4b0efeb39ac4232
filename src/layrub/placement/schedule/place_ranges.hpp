#ifndef LAYRUB_PLACEMENT_SCHEDULE_PLACE_RANGES_HPP_
#define LAYRUB_PLACEMENT_SCHEDULE_PLACE_RANGES_HPP_

#include <cstdint>

#include "layrub/placement/ir/decision.hpp"
#include "layrub/placement/ir/graph.hpp"
#include "layrub/placement/ir/lifetimes.hpp"
#include "layrub/placement/ir/plan.hpp"
#include "layrub/placement/schedule/emit_steps.hpp"

namespace layrub::placement::schedule {

/// Packs the ranges of `emitted`, which is EmitSteps(graph, decision, lives), and returns its plan
/// with offsets, the sizes of all arenas, and the Moves that packing needs. State tensors lie at
/// the bottom of their arena, where they stay between iterations. Leaves `padding` bytes between
/// ranges.
Plan PlaceRanges(const Graph& graph, const Decision& decision, const Lifetimes& lives,
                 Emitted emitted, int64_t padding);

}  // namespace layrub::placement::schedule

#endif  // LAYRUB_PLACEMENT_SCHEDULE_PLACE_RANGES_HPP_
