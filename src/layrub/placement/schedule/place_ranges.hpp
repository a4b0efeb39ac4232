#ifndef LAYRUB_PLACEMENT_SCHEDULE_PLACE_RANGES_HPP_
#define LAYRUB_PLACEMENT_SCHEDULE_PLACE_RANGES_HPP_

#include "layrub/placement/ir/graph.hpp"
#include "layrub/placement/ir/lifetimes.hpp"
#include "layrub/placement/ir/plan.hpp"
#include "layrub/placement/ir/program.hpp"
#include "layrub/placement/pack/options.hpp"
#include "layrub/placement/schedule/emit_steps.hpp"

namespace layrub::placement::schedule {

/// Packs the ranges of `emitted`, which is EmitSteps(graph, program, lives), and returns its plan
/// with offsets, the sizes of all arenas, and the Moves that packing needs. State tensors lie at
/// the bottom of their arena, where they stay between iterations.
Plan PlaceRanges(const Graph& graph, const Program& program, const Lifetimes& lives,
                 Emitted emitted, const pack::Options& options);

}  // namespace layrub::placement::schedule

#endif  // LAYRUB_PLACEMENT_SCHEDULE_PLACE_RANGES_HPP_
