#ifndef LAYRUB_PLACEMENT_COST_SHARED_LINK_HPP_
#define LAYRUB_PLACEMENT_COST_SHARED_LINK_HPP_

#include "layrub/placement/cost/machine.hpp"
#include "layrub/placement/ir/plan.hpp"

namespace layrub {

/// Returns the share of `machine` that each of `devices` devices has when they train together on
/// one link to the host. They run in step and copy at the same time, so each has an equal part of
/// the link's rates, and of the disk's. The name of the result says so.
Machine ShareLink(Machine machine, int devices);

/// Returns `machine` as if one link had the rates of all ways off the device that `budget` allows:
/// the link, if there is host memory, and the file.
Machine OffloadRates(Machine machine, const Budget& budget);

}  // namespace layrub

#endif  // LAYRUB_PLACEMENT_COST_SHARED_LINK_HPP_
