#ifndef LAYRUB_PLACEMENT_SEARCH_AUTO_HPP_
#define LAYRUB_PLACEMENT_SEARCH_AUTO_HPP_

#include "layrub/base/status.hpp"
#include "layrub/placement/cost/machine.hpp"
#include "layrub/placement/ir/graph.hpp"
#include "layrub/placement/ir/plan.hpp"
#include "layrub/placement/schedule/schedule.hpp"
#include "layrub/placement/search/search_options.hpp"

namespace layrub::placement::search {

/// If the budget allows it, everything stays on the device. Otherwise returns the fastest candidate
/// that fits: programs of the policies, of EvictGreedily with different capacities beside the
/// state tensors, and what a local search makes of the best of them. The capacities are the same
/// for every budget, but where the sweep over them begins and ends is not, so in rare cases a
/// larger budget gives a slower plan. If nothing fits, returns the program that needs the fewest
/// bytes.
Result<schedule::Choice> Auto(const Graph& graph, const Machine& machine, const Budget& budget,
                              const SearchOptions& options = {});

}  // namespace layrub::placement::search

#endif  // LAYRUB_PLACEMENT_SEARCH_AUTO_HPP_
