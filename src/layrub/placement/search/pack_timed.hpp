#ifndef LAYRUB_PLACEMENT_SEARCH_PACK_TIMED_HPP_
#define LAYRUB_PLACEMENT_SEARCH_PACK_TIMED_HPP_

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

/// Packs `program`, whose lifetimes are `lives`. `options`: how; those of the result are the same.
/// The result takes kNever if it needs more than `device_bytes`.
Packed Pack(const Graph& graph, const Machine& machine, int64_t device_bytes,
            const Lifetimes& lives, Program program, pack::Options options);

/// Packs it into `room` so that little waits for earlier users of its bytes. `starts`: see Outcome.
Packed PackTimed(const Graph& graph, const Machine& machine, const Room& room,
                 const Lifetimes& lives, Program program, const std::vector<double>& starts);

}  // namespace layrub::placement::search

#endif  // LAYRUB_PLACEMENT_SEARCH_PACK_TIMED_HPP_
