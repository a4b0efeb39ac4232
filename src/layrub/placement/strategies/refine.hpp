#ifndef LAYRUB_PLACEMENT_STRATEGIES_REFINE_HPP_
#define LAYRUB_PLACEMENT_STRATEGIES_REFINE_HPP_

#include <cstdint>
#include <functional>
#include <vector>

#include "layrub/graph.hpp"
#include "layrub/machine.hpp"
#include "layrub/placement/strategies/draft.hpp"
#include "layrub/strategy.hpp"

namespace layrub {

/// With fewer steps there is nothing to be won.
inline constexpr int64_t kFewestSteps = 14;

/// Takes a decision that is thought to be faster; says how many seconds the fastest takes now.
using TakeFaster = std::function<double(Decision)>;

/// Makes decisions that take less than `seconds`, packed into `bytes` of the device, by local
/// search (Descent) that goes by estimates: from `starts`, whose tensors leave whole; then from
/// these and from what was found, with tensors that may leave in part. The fastest are packed with
/// several parts of the room left free. Nothing for fewer `steps` than kFewestSteps.
void Refine(const Graph& graph, const Machine& machine, int64_t bytes,
            const std::vector<Draft>& starts, int64_t steps, double seconds,
            const TakeFaster& take);

}  // namespace layrub

#endif  // LAYRUB_PLACEMENT_STRATEGIES_REFINE_HPP_
