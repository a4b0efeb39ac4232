#ifndef LAYRUB_PLACEMENT_COST_FLOOR_HPP_
#define LAYRUB_PLACEMENT_COST_FLOOR_HPP_

#include <cstdint>
#include <vector>

#include "layrub/placement/ir/graph.hpp"
#include "layrub/placement/ir/plan.hpp"

namespace layrub::placement::cost {

/// By tensor, where its home is.
using Homes = std::vector<Tier>;
Homes AllOnDevice(const Graph& graph);
/// State in the host tier, but for what MayLeave excludes.
Homes AllOnHost(const Graph& graph);
/// Parameters, their gradients and history may be at home in the host tier. What users write, the
/// inputs and derivatives of a net, may not.
bool MayLeave(const Tensor& tensor);

/// Bytes of the state that is at home on the device, aligned.
int64_t ResidentBytes(const Graph& graph, const Homes& homes);
/// By operation, the bytes that it needs on the device beside ResidentBytes: the least over its
/// forms, see FloorBytes.
std::vector<int64_t> WorkingSets(const Graph& graph, const Homes& homes);
/// ResidentBytes and the largest working set.
int64_t FloorBytes(const Graph& graph, const Homes& homes);

}  // namespace layrub::placement::cost

#endif  // LAYRUB_PLACEMENT_COST_FLOOR_HPP_
