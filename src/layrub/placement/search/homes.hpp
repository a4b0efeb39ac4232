#ifndef LAYRUB_PLACEMENT_SEARCH_HOMES_HPP_
#define LAYRUB_PLACEMENT_SEARCH_HOMES_HPP_

#include <cstdint>
#include <vector>

#include "layrub/placement/cost/floor.hpp"
#include "layrub/placement/ir/graph.hpp"

namespace layrub::placement::search {

/// Returns a few choices of state to keep off the device so that every operation fits into `bytes`
/// of it, from the least state that suffices to all of it. Operations that would not fit use state
/// in place, if `host_bytes` are enough for that. History leaves the device first, because an
/// iteration uses it once, then gradients, then parameters; of each, the largest first. State that
/// is small compared with the rest leaves last, because copies of it cost more latency than
/// bandwidth. Returns none if not even all of it suffices.
std::vector<cost::Homes> ChooseHomes(const Graph& graph, int64_t bytes, int64_t host_bytes);

}  // namespace layrub::placement::search

#endif  // LAYRUB_PLACEMENT_SEARCH_HOMES_HPP_
