#ifndef LAYRUB_PLACEMENT_SEARCH_GREEDY_HPP_
#define LAYRUB_PLACEMENT_SEARCH_GREEDY_HPP_

#include <cstdint>
#include <optional>

#include "layrub/placement/cost/machine.hpp"
#include "layrub/placement/ir/decision.hpp"
#include "layrub/placement/ir/graph.hpp"
#include "layrub/placement/search/frugal_forms.hpp"

namespace layrub::placement::search {

/// How EvictGreedily weighs what it does.
struct GreedyPolicy {
  bool rematerialize = true;  ///< else all that leaves is copied
  double link_price = 0;      ///< what a second of the link counts where no operation waits for it
  /// Exponent, 0 to 1, of the time until a tensor is needed again: how much that counts beside what
  /// it costs to bring the tensor back.
  double haste = 1;
  /// A copy costs what the next run waits for it (LinkClock), not the seconds that it takes alone.
  bool link_clock = true;
};

/// Goes through the operations of `start` on a device with `room` bytes beside the state that is at
/// home there; other state begins and ends in the host tier.
/// What lacks at an operation comes back just before it: over the link or, where that is cheaper by
/// LinkClock, rematerialized, which may bring back what that needs in turn. When room lacks, the
/// tensor is evicted whose return costs the least for its bytes and for the time until then; an
/// output may also lie on an operand that is needed later. What only operations that run again need
/// is given up as soon as the others are done with it. The decision says what is away when; it
/// issues no copy early (see LowerInTime), and an output lies only on an operand that is needed
/// later and has a copy. Source: Kirisame et al., "Dynamic Tensor Rematerialization" (ICLR 2021),
/// sections 2 and 4; here the future is known, and copies are a second way back.
///
/// Nothing if too much would run again or the search takes too long.
std::optional<Decision> EvictGreedily(const Graph& graph, const Machine& machine,
                                      const Start& start, int64_t room, const GreedyPolicy& policy);

}  // namespace layrub::placement::search

#endif  // LAYRUB_PLACEMENT_SEARCH_GREEDY_HPP_
