#ifndef LAYRUB_PLACEMENT_SEARCH_TIME_COPIES_HPP_
#define LAYRUB_PLACEMENT_SEARCH_TIME_COPIES_HPP_

#include <cstdint>
#include <optional>
#include <vector>

#include "layrub/placement/cost/machine.hpp"
#include "layrub/placement/ir/graph.hpp"
#include "layrub/placement/ir/lifetimes.hpp"
#include "layrub/placement/ir/program.hpp"
#include "layrub/placement/search/draft.hpp"

namespace layrub::placement::search {

/// Bytes that the link up copies in so many latencies.
int64_t LatencyBytes(const Machine& machine, double latencies);

// These functions choose when ranges are given back and copies issued. `loads` has, by run, the
// bytes on the device under the current evictions, and is kept up to date; `capacity` is the most
// that it may become. `lives` are the lifetimes of the program as Lower has made it.

/// Holds evicted ranges until their copies to the host have ended on `machine`, one after the other
/// on the link, as far as `capacity` allows. Otherwise, whoever gets such a range would wait.
void HoldSaves(const Graph& graph, const Machine& machine, int64_t capacity, const Lifetimes& lives,
               std::vector<int64_t>* loads, Program* program);

/// Issues all prefetches early enough to end in time on `machine`, one after the other on the link,
/// as far as `capacity` allows, and never later than the program says.
void FetchEarly(const Graph& graph, const Machine& machine, int64_t capacity,
                const std::vector<int64_t>& loads, Program* program);

/// Chooses how much of partly evicted tensors stays, as many bytes as fit during the whole
/// eviction; then HoldSaves and FetchEarly.
void TimeCopies(const Graph& graph, const Machine& machine, int64_t capacity,
                const Lifetimes& lives, std::vector<int64_t> loads, Program* program);

/// Lowers `draft` to a program that issues copies as early as a capacity of `capacity` device bytes
/// allows; state tensors and workspaces count. A tensor that may leave in part keeps as many bytes
/// on the device as fit during the whole eviction. Returns nothing if the draft is impossible. The
/// result may exceed `capacity`.
std::optional<Program> LowerInTime(const Graph& graph, const Machine& machine, const Draft& draft,
                                   int64_t capacity);

}  // namespace layrub::placement::search

#endif  // LAYRUB_PLACEMENT_SEARCH_TIME_COPIES_HPP_
