#ifndef LAYRUB_PLACEMENT_SEARCH_ESTIMATE_HPP_
#define LAYRUB_PLACEMENT_SEARCH_ESTIMATE_HPP_

#include <cstdint>
#include <vector>

#include "layrub/placement/cost/machine.hpp"
#include "layrub/placement/cost/timeline.hpp"
#include "layrub/placement/ir/graph.hpp"
#include "layrub/placement/ir/lifetimes.hpp"
#include "layrub/placement/ir/plan.hpp"
#include "layrub/placement/ir/program.hpp"
#include "layrub/placement/pack/options.hpp"

namespace layrub::placement::search {

/// Predicted cost of a program.
struct Outcome {
  double seconds = kNever;      ///< kNever: it does not fit
  std::vector<double> returns;  ///< see ReturnsByTensor
};

/// Estimates `program` as if it were packed into `bytes`. `lives` are its lifetimes.
Outcome Estimate(const Graph& graph, const Machine& machine, int64_t bytes, const Lifetimes& lives,
                 const Program& program);

/// The bytes into which a program is packed.
struct Room {
  int64_t device = 0;
  int64_t host = kUnlimitedHost;
};

/// A program with its plan.
struct Packed {
  Program program;
  pack::Options options;
  Plan plan;
  double seconds = kNever;  ///< simulated; kNever: it does not fit
};

/// Packs `program`, whose lifetimes are `lives`, into `room` so that little waits for earlier users
/// of its bytes. The result takes kNever if it cannot be packed. It has no plan if its estimate
/// already exceeds `most_seconds`.
Packed PackTimed(const Graph& graph, const Machine& machine, const Room& room,
                 const Lifetimes& lives, Program program, double most_seconds);

}  // namespace layrub::placement::search

#endif  // LAYRUB_PLACEMENT_SEARCH_ESTIMATE_HPP_
