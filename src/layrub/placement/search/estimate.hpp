#ifndef LAYRUB_PLACEMENT_SEARCH_ESTIMATE_HPP_
#define LAYRUB_PLACEMENT_SEARCH_ESTIMATE_HPP_

#include <cstdint>
#include <vector>

#include "layrub/placement/cost/machine.hpp"
#include "layrub/placement/cost/timeline.hpp"
#include "layrub/placement/ir/decision.hpp"
#include "layrub/placement/ir/graph.hpp"
#include "layrub/placement/ir/lifetimes.hpp"

namespace layrub::placement::search {

/// Predicted cost of a decision.
struct Outcome {
  double seconds = kNever;      ///< kNever: it does not fit
  std::vector<double> returns;  ///< see ReturnsByTensor
};

/// Estimates `decision` as if it were packed into `bytes`. `lives` are its lifetimes.
Outcome Estimate(const Graph& graph, const Machine& machine, int64_t bytes, const Lifetimes& lives,
                 const Decision& decision);

/// Packs `decision` into `bytes` so that little waits for earlier users of its bytes, and returns
/// the simulated seconds. Sets timings, enough_bytes and may_move of the decision. Returns kNever
/// if it cannot be packed, or, without packing it, if its estimate already exceeds `most_seconds`.
double PackTimed(const Graph& graph, const Machine& machine, int64_t bytes, const Lifetimes& lives,
                 double most_seconds, Decision* decision);

}  // namespace layrub::placement::search

#endif  // LAYRUB_PLACEMENT_SEARCH_ESTIMATE_HPP_
