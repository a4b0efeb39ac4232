#ifndef LAYRUB_PLACEMENT_STRATEGIES_LOADS_HPP_
#define LAYRUB_PLACEMENT_STRATEGIES_LOADS_HPP_

#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "layrub/graph.hpp"
#include "layrub/machine.hpp"
#include "layrub/placement/lifetimes.hpp"
#include "layrub/strategy.hpp"

namespace layrub {

inline constexpr int64_t kNoLimit = std::numeric_limits<int64_t>::max();

/// The bytes that live on the device during each of `runs` runs, persistent tensors and workspaces
/// among them. What packing leaves unused comes on top.
std::vector<int64_t> Loads(const Lifetimes& lives, size_t runs);
/// The largest of them: no packing needs fewer.
int64_t LeastBytes(const Lifetimes& lives, size_t runs);

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

}  // namespace layrub

#endif  // LAYRUB_PLACEMENT_STRATEGIES_LOADS_HPP_
