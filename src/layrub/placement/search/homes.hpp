#ifndef LAYRUB_PLACEMENT_SEARCH_HOMES_HPP_
#define LAYRUB_PLACEMENT_SEARCH_HOMES_HPP_

#include <cstdint>
#include <vector>

#include "layrub/placement/cost/floor.hpp"
#include "layrub/placement/ir/graph.hpp"

namespace layrub::placement::search {

/// Returns a few choices of state to keep in the host tier so that every operation fits into
/// `bytes` of the device, from the least state that suffices to all of it. History leaves the
/// device first, because an iteration uses it once, then gradients, then parameters; of each, the
/// largest first. State that is small compared with the rest leaves last, because copies of it cost
/// more latency than bandwidth. Returns none if not even all state in the host tier suffices.
std::vector<cost::Homes> ChooseHomes(const Graph& graph, int64_t bytes);

}  // namespace layrub::placement::search

#endif  // LAYRUB_PLACEMENT_SEARCH_HOMES_HPP_
