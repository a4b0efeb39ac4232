#ifndef LAYRUB_PLACEMENT_SEARCH_REFINE_HPP_
#define LAYRUB_PLACEMENT_SEARCH_REFINE_HPP_

#include <cstdint>
#include <optional>
#include <vector>

#include "layrub/placement/cost/machine.hpp"
#include "layrub/placement/ir/decision.hpp"
#include "layrub/placement/ir/graph.hpp"
#include "layrub/placement/search/residency.hpp"
#include "layrub/placement/search/search_options.hpp"

namespace layrub::placement::search {

/// With fewer steps there is nothing to be won.
inline constexpr int64_t kFewestSteps = 14;

/// A decision that takes less than `seconds`, packed into `bytes` of the device, found by local
/// searches that go by estimates: from `starts`, whose tensors leave whole; then from these and
/// from what was found, with tensors that may leave in part. The searches share the steps by
/// successive halving (Jamieson and Talwalkar, "Non-stochastic Best Arm Identification", 2016). The
/// fastest results are packed with several parts of the room left free. Nothing if none is faster,
/// or for fewer `steps` than kFewestSteps.
std::optional<Decision> Refine(const Graph& graph, const Machine& machine, int64_t bytes,
                               const std::vector<Residency>& starts, int64_t steps, double seconds,
                               const SearchOptions& options);

}  // namespace layrub::placement::search

#endif  // LAYRUB_PLACEMENT_SEARCH_REFINE_HPP_
