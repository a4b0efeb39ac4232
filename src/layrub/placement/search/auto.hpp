#ifndef LAYRUB_PLACEMENT_SEARCH_AUTO_HPP_
#define LAYRUB_PLACEMENT_SEARCH_AUTO_HPP_

#include "layrub/base/status.hpp"
#include "layrub/placement/cost/machine.hpp"
#include "layrub/placement/ir/decision.hpp"
#include "layrub/placement/ir/graph.hpp"
#include "layrub/placement/ir/plan.hpp"
#include "layrub/placement/search/search_options.hpp"

namespace layrub::placement::search {

/// The least intervention that fits: all stays where it is if the budget allows it. Otherwise the
/// fastest candidate that fits: the policies' decisions, those of EvictGreedily with room for so
/// many bytes beside the state tensors, and what a local search makes of the best of them. The
/// rooms are the same for every budget; where the search among them begins and ends is not, so a
/// larger budget may, rarely, give a slower plan. If nothing fits, the decision that needs the
/// fewest bytes.
Result<Decision> Auto(const Graph& graph, const Machine& machine, const Budget& budget,
                      const SearchOptions& options = {});

}  // namespace layrub::placement::search

#endif  // LAYRUB_PLACEMENT_SEARCH_AUTO_HPP_
