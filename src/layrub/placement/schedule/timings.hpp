#ifndef LAYRUB_PLACEMENT_SCHEDULE_TIMINGS_HPP_
#define LAYRUB_PLACEMENT_SCHEDULE_TIMINGS_HPP_

#include <cstdint>
#include <vector>

#include "layrub/placement/cost/timeline.hpp"
#include "layrub/placement/ir/graph.hpp"
#include "layrub/placement/ir/plan.hpp"
#include "layrub/placement/pack/options.hpp"

namespace layrub::placement::schedule {

/// By block, when it is in use in `timeline`, that of `plan`. `plan` is that of EmitSteps, perhaps
/// with Waits; its Allocs have the number of the block, below `blocks`, in place of an offset.
std::vector<pack::Timing> TimingsOf(const Graph& graph, const Plan& plan, const Timeline& timeline,
                                    int32_t blocks);

}  // namespace layrub::placement::schedule

#endif  // LAYRUB_PLACEMENT_SCHEDULE_TIMINGS_HPP_
