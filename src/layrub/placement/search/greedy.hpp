#ifndef LAYRUB_PLACEMENT_SEARCH_GREEDY_HPP_
#define LAYRUB_PLACEMENT_SEARCH_GREEDY_HPP_

#include <cstdint>
#include <optional>

#include "layrub/placement/cost/machine.hpp"
#include "layrub/placement/ir/graph.hpp"
#include "layrub/placement/ir/program.hpp"
#include "layrub/placement/search/frugal_variants.hpp"

namespace layrub::placement::search {

/// Weights of the choices that EvictGreedily makes.
struct GreedyPolicy {
  bool rematerialize = true;  ///< evicted tensors may be recomputed; if false, all are copied
  double link_price = 0;  ///< cost of a second of the link for which no operation waits, in seconds
  /// Exponent, from 0 to 1, of the time until a tensor is needed again: how much that time counts
  /// against the cost of its return.
  double haste = 1;
  /// The cost of a copy is how long the next run waits for it (LinkClock), not how long it takes
  /// alone.
  bool link_clock = true;
};

/// Goes through the operations of `start` on a device with `capacity` bytes beside the state at
/// home there; other state begins and ends in the host tier. If an operation needs a tensor that is
/// not on the device, the tensor is prefetched just before it or, if that is cheaper by LinkClock,
/// recomputed; that may bring back operands in turn. If bytes are missing, evicts the tensor whose
/// return costs the least in relation to its bytes and the time until then. An output may also be
/// laid on an operand that is needed later, if that has a copy. A tensor that only recomputations
/// need is given up once all other operations are done with it.
///
/// The program says which tensors are evicted when, but issues no copy early (see LowerInTime).
/// Source: Kirisame et al., "Dynamic Tensor Rematerialization" (ICLR 2021), sections 2 and 4. In
/// contrast to the paper, the future is known, and copies are a second way back.
///
/// Returns nothing if too much would be recomputed or the search takes too long.
std::optional<Program> EvictGreedily(const Graph& graph, const Machine& machine, const Start& start,
                                     int64_t capacity, const GreedyPolicy& policy);

}  // namespace layrub::placement::search

#endif  // LAYRUB_PLACEMENT_SEARCH_GREEDY_HPP_
