#ifndef LAYRUB_PLACEMENT_STRATEGIES_LOADS_HPP_
#define LAYRUB_PLACEMENT_STRATEGIES_LOADS_HPP_

#include <cstdint>
#include <limits>
#include <vector>

#include "layrub/graph.hpp"
#include "layrub/placement/lifetimes.hpp"
#include "layrub/strategy.hpp"

namespace layrub {

inline constexpr int64_t kNoLimit = std::numeric_limits<int64_t>::max();

/// The bytes that live on the device during each of `runs` runs, persistent tensors and workspaces
/// among them. What packing leaves unused comes on top.
std::vector<int64_t> Loads(const Lifetimes& lives, size_t runs);

/// Gives each operation the fastest deterministic workspace with which none of its runs needs more
/// than `bytes` of the device, if it is faster than the one that it has. Workspaces of unknown
/// speed are left alone.
void TakeFastestScratch(const Graph& graph, int64_t bytes, Decision* decision);

}  // namespace layrub

#endif  // LAYRUB_PLACEMENT_STRATEGIES_LOADS_HPP_
