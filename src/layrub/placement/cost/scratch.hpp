#ifndef LAYRUB_PLACEMENT_COST_SCRATCH_HPP_
#define LAYRUB_PLACEMENT_COST_SCRATCH_HPP_

#include <cstdint>
#include <limits>
#include <optional>

#include "layrub/placement/cost/machine.hpp"
#include "layrub/placement/ir/decision.hpp"
#include "layrub/placement/ir/graph.hpp"

namespace layrub::placement::cost {

inline constexpr int64_t kNoLimit = std::numeric_limits<int64_t>::max();

/// Gives each operation the fastest deterministic workspace with which none of its runs needs more
/// than `bytes` of the device, if it is faster than the one that it has (OpSeconds).
void TakeFastestScratch(const Graph& graph, const Machine& machine, int64_t bytes,
                        Decision* decision);
/// `decision` with the fastest workspaces for which the fullest run has room already; nothing where
/// that changes nothing.
std::optional<Decision> FreeWorkspaces(const Graph& graph, const Machine& machine,
                                       const Decision& decision);
/// The workspace of `form` that GrantedWorkspace names; kNone for none.
int32_t GrantedScratch(const Graph& graph, const Form& form);

}  // namespace layrub::placement::cost

#endif  // LAYRUB_PLACEMENT_COST_SCRATCH_HPP_
