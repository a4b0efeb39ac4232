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

/// What is thought of a decision.
struct Outcome {
  double seconds = kNever;      ///< kNever: of no use
  std::vector<double> returns;  ///< see ReturnsByTensor
};

/// About what `decision`, which has these lifetimes, takes once it is packed into `bytes`.
Outcome Estimate(const Graph& graph, const Machine& machine, int64_t bytes, const Lifetimes& lives,
                 const Decision& decision);

/// Seconds that it takes, packed into `bytes` so that little waits for what lay somewhere before:
/// sets what it says of packing. Infinite, and not packed, if already the estimate exceeds
/// `most_seconds`; infinite if it cannot be packed.
double PackTimed(const Graph& graph, const Machine& machine, int64_t bytes, const Lifetimes& lives,
                 double most_seconds, Decision* decision);

}  // namespace layrub::placement::search

#endif  // LAYRUB_PLACEMENT_SEARCH_ESTIMATE_HPP_
