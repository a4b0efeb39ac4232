#ifndef LAYRUB_PLACEMENT_STRATEGIES_PAGING_HPP_
#define LAYRUB_PLACEMENT_STRATEGIES_PAGING_HPP_

#include <cstdint>

#include "layrub/graph.hpp"
#include "layrub/machine.hpp"
#include "layrub/placement/uses.hpp"
#include "layrub/strategy.hpp"

namespace layrub {

/// Adds offloaded gaps to `decision` until what is not persistent takes at most `bytes` of the
/// device at each run, as far as that is possible; gradients move too, and a tensor may leave
/// several times. Forms, recomputations, dropped gaps and aliases are as they are; what is to be
/// dropped stays until then, and what is kept after its last use stays.
///
/// When a run lacks room, what is needed again last leaves, small tensors only where nothing else
/// does (L. A. Belady, "A study of replacement algorithms for a virtual-storage computer", 1966).
/// Its copy to the host has from its last use until then. A copy back is issued as early as
/// `machine` needs it, one after the other on the link, and as the room allows.
/// `headroom` of the bytes are for copies back that come early: all else keeps to the rest. `uses`
/// are those of the decision's runs.
void PageWithin(const Graph& graph, const Machine& machine, const UseLists& uses, int64_t bytes,
                int64_t headroom, Decision* decision);

/// The most bytes that are not persistent at any run of `decision`, and the run; no gaps between
/// ranges.
int64_t PeakLoad(const Graph& graph, const Decision& decision);

}  // namespace layrub

#endif  // LAYRUB_PLACEMENT_STRATEGIES_PAGING_HPP_
