#ifndef LAYRUB_PLACEMENT_SEARCH_STALLS_HPP_
#define LAYRUB_PLACEMENT_SEARCH_STALLS_HPP_

#include <vector>

#include "layrub/placement/cost/timeline.hpp"

namespace layrub::placement::search {

/// By tensor, the seconds for which operations waited for copies of it, in either direction. Their
/// sum is timeline.seconds less the seconds of the operations. If a copy waited for another copy,
/// the time of the other one counts for the other tensor. `timeline` is that of `plan`.
std::vector<double> StallsByTensor(const Graph& graph, const Plan& plan, const Timeline& timeline);

/// By tensor, the seconds that its return takes: its stalls, and the recomputations that write it.
std::vector<double> ReturnsByTensor(const Graph& graph, const Plan& plan, const Timeline& timeline);

}  // namespace layrub::placement::search

#endif  // LAYRUB_PLACEMENT_SEARCH_STALLS_HPP_
