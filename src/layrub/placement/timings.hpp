#ifndef LAYRUB_PLACEMENT_TIMINGS_HPP_
#define LAYRUB_PLACEMENT_TIMINGS_HPP_

#include <cstdint>
#include <vector>

#include "layrub/graph.hpp"
#include "layrub/plan.hpp"
#include "layrub/strategy.hpp"
#include "layrub/timeline.hpp"

namespace layrub {

/// By block, when it is in use in `timeline`, that of `plan`: the steps of StepsOf, perhaps with
/// Waits, whose Allocs say the number of the block, below `blocks`, in place of an offset.
std::vector<Timing> TimingsOf(const Graph& graph, const Plan& plan, const Timeline& timeline,
                              int32_t blocks);

}  // namespace layrub

#endif  // LAYRUB_PLACEMENT_TIMINGS_HPP_
