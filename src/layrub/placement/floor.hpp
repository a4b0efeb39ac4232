#ifndef LAYRUB_PLACEMENT_FLOOR_HPP_
#define LAYRUB_PLACEMENT_FLOOR_HPP_

#include <cstdint>
#include <vector>

#include "layrub/graph.hpp"

namespace layrub {

/// By operation, the bytes that it needs on the device beside the persistent tensors: the least
/// over its forms, see FloorBytes.
std::vector<int64_t> WorkingSets(const Graph& graph);

}  // namespace layrub

#endif  // LAYRUB_PLACEMENT_FLOOR_HPP_
