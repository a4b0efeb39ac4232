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

// When ranges are given back and copies issued. `loads`, by run, has the bytes on the device as the
// gaps are, and is kept so; `room` is what there may be at most.

/// Whether gap number `gap` of the tensor whose uses these are copies its value to the host: it is
/// offloaded, and no earlier gap has done so since the value was written.
bool Saves(std::span<const Use> uses, const std::vector<Run>& runs, const ShortList<Gap>& gaps,
           size_t gap);

/// Has ranges that are given back at once held until their copies to the host have ended on
/// `machine`, one after the other on the link, as far as `room` allows: otherwise who gets such a
/// range waits. `lives` are those of the decision, `uses` those of its runs.
void HoldSaves(const Graph& graph, const Machine& machine, int64_t room, const UseLists& uses,
               const Lifetimes& lives, std::vector<int64_t>* loads, Decision* decision);

/// Issues the copies back of all offloaded gaps as early as `machine` needs them, one after the
/// other on the link, and as `room` allows, never later than they are.
void FetchEarly(const Graph& graph, const Machine& machine, int64_t room,
                const std::vector<int64_t>& loads, Decision* decision);

}  // namespace layrub::placement::search

#endif  // LAYRUB_PLACEMENT_SEARCH_TIME_COPIES_HPP_
