#ifndef LAYRUB_PLACEMENT_STRATEGIES_FETCH_EARLY_HPP_
#define LAYRUB_PLACEMENT_STRATEGIES_FETCH_EARLY_HPP_

#include <cstdint>
#include <vector>

#include "layrub/graph.hpp"
#include "layrub/machine.hpp"
#include "layrub/strategy.hpp"

namespace layrub {

/// Issues the copies back of all offloaded gaps as early as `machine` needs them, one after the
/// other on the link, and as `room` allows, never later than they are. `load`, by run, has the
/// bytes on the device as the gaps are.
void FetchEarly(const Graph& graph, const Machine& machine, int64_t room,
                const std::vector<int64_t>& load, Decision* decision);

}  // namespace layrub

#endif  // LAYRUB_PLACEMENT_STRATEGIES_FETCH_EARLY_HPP_
