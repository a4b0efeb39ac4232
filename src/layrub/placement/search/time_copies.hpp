#ifndef LAYRUB_PLACEMENT_SEARCH_TIME_COPIES_HPP_
#define LAYRUB_PLACEMENT_SEARCH_TIME_COPIES_HPP_

#include <cstdint>
#include <span>
#include <vector>

#include "layrub/placement/cost/machine.hpp"
#include "layrub/placement/ir/decision.hpp"
#include "layrub/placement/ir/graph.hpp"
#include "layrub/placement/ir/lifetimes.hpp"
#include "layrub/placement/ir/short_list.hpp"
#include "layrub/placement/ir/uses.hpp"

namespace layrub::placement::search {

// These functions choose when ranges are given back and copies issued. `loads` has, by run, the
// bytes on the device under the current evictions, and is kept up to date; `capacity` is the most
// that it may become.

/// Whether eviction number `eviction` of a tensor copies its value to the host: it is not dropped,
/// and no earlier eviction has copied the value since it was written. `uses` and `evictions` are
/// those of the tensor.
bool Saves(std::span<const Use> uses, const std::vector<Run>& runs,
           const ShortList<Eviction>& evictions, size_t eviction);

/// Holds evicted ranges until their copies to the host have ended on `machine`, one after the other
/// on the link, as far as `capacity` allows. Otherwise, whoever gets such a range would wait.
/// `lives` are the lifetimes of the decision, `uses` those of its runs.
void HoldSaves(const Graph& graph, const Machine& machine, int64_t capacity, const UseLists& uses,
               const Lifetimes& lives, std::vector<int64_t>* loads, Decision* decision);

/// Issues all prefetches early enough to end in time on `machine`, one after the other on the link,
/// as far as `capacity` allows, and never later than the decision says.
void FetchEarly(const Graph& graph, const Machine& machine, int64_t capacity,
                const std::vector<int64_t>& loads, Decision* decision);

}  // namespace layrub::placement::search

#endif  // LAYRUB_PLACEMENT_SEARCH_TIME_COPIES_HPP_
