#ifndef LAYRUB_PLACEMENT_COST_OCCUPANCY_HPP_
#define LAYRUB_PLACEMENT_COST_OCCUPANCY_HPP_

#include <array>
#include <cstdint>
#include <vector>

#include "layrub/placement/ir/graph.hpp"
#include "layrub/placement/ir/plan.hpp"

namespace layrub {

/// Returns, by step of `plan`, the live bytes of `tier` once the step has begun (aligned ranges,
/// aliased bytes once). At steps that run operations, those of the device are at most Peak::bytes.
std::vector<int64_t> Occupancy(const Graph& graph, const Plan& plan, Tier tier);

/// Bytes by role, in the order of Role.
using RoleBytes = std::array<int64_t, 8>;

/// Returns the live bytes of the device by role, counted as in Peak, for each step of `plan` that
/// runs an operation, in plan order. A range has the role of the tensor that was bound to it last.
std::vector<RoleBytes> OccupancyByRole(const Graph& graph, const Plan& plan);

}  // namespace layrub

#endif  // LAYRUB_PLACEMENT_COST_OCCUPANCY_HPP_
