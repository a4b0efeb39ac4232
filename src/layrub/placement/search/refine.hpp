#ifndef LAYRUB_PLACEMENT_SEARCH_REFINE_HPP_
#define LAYRUB_PLACEMENT_SEARCH_REFINE_HPP_

#include <cstdint>
#include <functional>
#include <vector>

#include "layrub/placement/cost/machine.hpp"
#include "layrub/placement/ir/decision.hpp"
#include "layrub/placement/ir/graph.hpp"
#include "layrub/placement/search/residency.hpp"

namespace layrub::placement::search {

/// With fewer steps there is nothing to be won.
inline constexpr int64_t kFewestSteps = 14;

/// Takes a decision that is thought to be faster; says how many seconds the fastest takes now.
using TakeFaster = std::function<double(Decision)>;

/// Makes decisions that take less than `seconds`, packed into `bytes` of the device, by local
/// search (LocalSearch) that goes by estimates: from `starts`, whose tensors leave whole; then from
/// these and from what was found, with tensors that may leave in part. The fastest are packed with
/// several parts of the room left free. Nothing for fewer `steps` than kFewestSteps.
void Refine(const Graph& graph, const Machine& machine, int64_t bytes,
            const std::vector<Residency>& starts, int64_t steps, double seconds,
            const TakeFaster& take);

}  // namespace layrub::placement::search

#endif  // LAYRUB_PLACEMENT_SEARCH_REFINE_HPP_
