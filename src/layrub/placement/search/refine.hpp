#ifndef LAYRUB_PLACEMENT_SEARCH_REFINE_HPP_
#define LAYRUB_PLACEMENT_SEARCH_REFINE_HPP_

#include <cstdint>
#include <optional>
#include <vector>

#include "layrub/placement/cost/machine.hpp"
#include "layrub/placement/ir/graph.hpp"
#include "layrub/placement/search/draft.hpp"
#include "layrub/placement/search/pack_timed.hpp"
#include "layrub/placement/search/search_options.hpp"

namespace layrub::placement::search {

/// With fewer steps a search cannot gain anything.
inline constexpr int64_t kFewestSteps = 14;

/// Looks for a program that takes less than `seconds`, packed into `room`. Local searches that go
/// by Evaluate start from `starts`, evicting tensors wholly; then others start from these and from
/// the results, and may evict tensors partly. The searches share `steps` by successive halving
/// (Jamieson and Talwalkar, "Non-stochastic Best Arm Identification", 2016). The fastest results
/// are packed several times, with different parts of the capacity left free. Returns nothing if
/// none is faster, or if `steps` is below kFewestSteps.
std::optional<Packed> Refine(const Graph& graph, const Machine& machine, const Room& room,
                             const std::vector<Draft>& starts, int64_t steps, double seconds,
                             const SearchOptions& options);

}  // namespace layrub::placement::search

#endif  // LAYRUB_PLACEMENT_SEARCH_REFINE_HPP_
