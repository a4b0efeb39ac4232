#ifndef LAYRUB_PLACEMENT_COST_SHARED_LINK_HPP_
#define LAYRUB_PLACEMENT_COST_SHARED_LINK_HPP_

#include "layrub/placement/cost/machine.hpp"
#include "layrub/placement/ir/plan.hpp"

namespace layrub {

/// What one of `devices` devices of `machine` has that train together on one link to the host: they
/// run in step and copy at the same time, so each has an equal part of its rates, and of the
/// disk's. The name says so.
Machine ShareLink(Machine machine, int devices);

/// `machine` as if one link had the rates of all ways off the device that `budget` allows: the
/// link, where there is host memory, and the file.
Machine OffloadRates(Machine machine, const Budget& budget);

}  // namespace layrub

#endif  // LAYRUB_PLACEMENT_COST_SHARED_LINK_HPP_
