#ifndef LAYRUB_PLACEMENT_SEARCH_HOMES_HPP_
#define LAYRUB_PLACEMENT_SEARCH_HOMES_HPP_

#include <cstdint>
#include <vector>

#include "layrub/placement/cost/floor.hpp"
#include "layrub/placement/ir/graph.hpp"

namespace layrub::placement::search {

/// A few ways to keep state in the host tier so that `bytes` of the device are enough for each
/// operation, from as little as does to all. History comes first, as it is used once an iteration,
/// then gradients, then parameters, of each the largest first. What is small compared with the rest
/// stays on the device as long as that suffices: copies of it take latency more than bandwidth.
/// None if `bytes` are not enough with all of it there.
std::vector<cost::Homes> ChooseHomes(const Graph& graph, int64_t bytes);

}  // namespace layrub::placement::search

#endif  // LAYRUB_PLACEMENT_SEARCH_HOMES_HPP_
