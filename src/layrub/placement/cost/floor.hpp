#ifndef LAYRUB_PLACEMENT_COST_FLOOR_HPP_
#define LAYRUB_PLACEMENT_COST_FLOOR_HPP_

#include <cstdint>
#include <vector>

#include "layrub/placement/ir/graph.hpp"
#include "layrub/placement/ir/plan.hpp"

namespace layrub::placement::cost {

/// The home of each tensor.
using Homes = std::vector<Tier>;
Homes AllOnDevice(const Graph& graph);
/// All state that MayLeave allows in the host tier, the rest on the device.
Homes AllOnHost(const Graph& graph);
/// Whether the home of the tensor may be the host tier: parameters, their gradients and history.
/// What users write, the inputs and derivatives of a net, must stay on the device.
bool MayLeave(const Tensor& tensor);

/// Bytes of the state that is at home on the device, aligned.
int64_t ResidentBytes(const Graph& graph, const Homes& homes);
/// By operation, the bytes that it needs on the device beside ResidentBytes, in its cheapest
/// variant; see FloorBytes(const Graph&).
std::vector<int64_t> WorkingSets(const Graph& graph, const Homes& homes);
/// The sum of ResidentBytes and the largest working set.
int64_t FloorBytes(const Graph& graph, const Homes& homes);

}  // namespace layrub::placement::cost

#endif  // LAYRUB_PLACEMENT_COST_FLOOR_HPP_
