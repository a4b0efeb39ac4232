#ifndef LAYRUB_PLACEMENT_SEARCH_STALLS_HPP_
#define LAYRUB_PLACEMENT_SEARCH_STALLS_HPP_

#include <vector>

#include "layrub/placement/cost/timeline.hpp"

namespace layrub::placement::search {

/// By tensor, the seconds for which operations waited because it was copied, in either direction;
/// their sum is timeline.seconds less what the operations take. Where a copy waited for another
/// one, the other one's time is the other tensor's. `timeline` is that of `plan`.
std::vector<double> StallsByTensor(const Graph& graph, const Plan& plan, const Timeline& timeline);

/// By tensor, the seconds that bringing it back takes: its stalls, and what runs again to write it.
std::vector<double> ReturnsByTensor(const Graph& graph, const Plan& plan, const Timeline& timeline);

}  // namespace layrub::placement::search

#endif  // LAYRUB_PLACEMENT_SEARCH_STALLS_HPP_
