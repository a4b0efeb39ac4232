#ifndef LAYRUB_PLACEMENT_SEARCH_TIME_COPIES_HPP_
#define LAYRUB_PLACEMENT_SEARCH_TIME_COPIES_HPP_

#include <cstdint>
#include <vector>

#include "layrub/placement/cost/machine.hpp"
#include "layrub/placement/ir/graph.hpp"
#include "layrub/placement/ir/lifetimes.hpp"
#include "layrub/placement/ir/program.hpp"

namespace layrub::placement::search {

// These functions choose when ranges are given back and copies issued. `loads` has, by run, the
// bytes on the device under the current evictions, and is kept up to date; `capacity` is the most
// that it may become.

/// Holds evicted ranges until their copies to the host have ended on `machine`, one after the other
/// on the link, as far as `capacity` allows. Otherwise, whoever gets such a range would wait.
/// `lives` are the lifetimes of the program.
void HoldSaves(const Graph& graph, const Machine& machine, int64_t capacity, const Lifetimes& lives,
               std::vector<int64_t>* loads, Program* program);

/// Issues all prefetches early enough to end in time on `machine`, one after the other on the link,
/// as far as `capacity` allows, and never later than the program says.
void FetchEarly(const Graph& graph, const Machine& machine, int64_t capacity,
                const std::vector<int64_t>& loads, Program* program);

}  // namespace layrub::placement::search

#endif  // LAYRUB_PLACEMENT_SEARCH_TIME_COPIES_HPP_
