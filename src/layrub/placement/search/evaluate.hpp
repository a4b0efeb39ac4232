#ifndef LAYRUB_PLACEMENT_SEARCH_EVALUATE_HPP_
#define LAYRUB_PLACEMENT_SEARCH_EVALUATE_HPP_

#include <cstdint>
#include <optional>
#include <vector>

#include "layrub/placement/cost/machine.hpp"
#include "layrub/placement/cost/timeline.hpp"
#include "layrub/placement/ir/graph.hpp"
#include "layrub/placement/ir/lifetimes.hpp"
#include "layrub/placement/ir/program.hpp"
#include "layrub/placement/search/draft.hpp"

namespace layrub::placement::search {

/// Predicted times of a program, in seconds.
struct Outcome {
  double seconds = kNever;      ///< of an iteration
  std::vector<double> starts;   ///< by run, when it begins; then, when the last one ends
  std::vector<double> returns;  ///< by tensor: for how long runs waited for copies of it, in either
                                ///< direction, and how long recomputations of it took. If a copy
                                ///< waited for another copy, that time counts for the other tensor
};

/// The program with each evicted range given back at once, and each prefetch issued just before its
/// use, as Lower makes it.
Program WithoutTimes(Program program);

/// Simulates a program WithoutTimes and issues its copies on the way: each range is held until its
/// copy to the host has ended, and each prefetch is issued early enough to end in time, as far as
/// `capacity` allows. A run that needs the bytes of a range before the copy has ended waits.
///
/// `capacity`: device bytes, state and workspaces included. `lives`: the lifetimes of the program
/// before its copies are issued. `loads`: their LiveBytes. Simulate is more exact, as it knows the
/// packed plan, and that copies in both directions slow each other down.
Outcome Evaluate(const Graph& graph, const Machine& machine, int64_t capacity,
                 const Lifetimes& lives, std::vector<int64_t> loads, Program* program);

/// A program and its predicted times.
struct Timed {
  Program program;
  Outcome outcome;
};

/// Lowers `draft`; a tensor that may leave in part keeps as many bytes on the device as fit during
/// the whole eviction; then Evaluate. Values leave for at most `host_bytes` of host memory, and for
/// the file. Returns nothing if the draft is impossible. The result may exceed `capacity`.
std::optional<Timed> LowerInTime(const Graph& graph, const Machine& machine, const Draft& draft,
                                 int64_t capacity, int64_t host_bytes = kUnlimitedHost);
/// The same for a caller that has lowered the draft to `program`, with these lifetimes and loads.
Timed LowerInTime(const Graph& graph, const Machine& machine, int64_t capacity,
                  const Lifetimes& lives, std::vector<int64_t> loads, Program program);

/// Bytes that the link up copies in so many latencies.
int64_t LatencyBytes(const Machine& machine, double latencies);

}  // namespace layrub::placement::search

#endif  // LAYRUB_PLACEMENT_SEARCH_EVALUATE_HPP_
