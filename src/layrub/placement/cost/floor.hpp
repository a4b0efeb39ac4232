#ifndef LAYRUB_PLACEMENT_COST_FLOOR_HPP_
#define LAYRUB_PLACEMENT_COST_FLOOR_HPP_

#include <cstdint>
#include <vector>

#include "layrub/placement/ir/graph.hpp"

namespace layrub::placement::cost {

/// By operation, the bytes that it needs on the device beside the state tensors: the least
/// over its forms, see FloorBytes.
std::vector<int64_t> WorkingSets(const Graph& graph);

}  // namespace layrub::placement::cost

#endif  // LAYRUB_PLACEMENT_COST_FLOOR_HPP_
