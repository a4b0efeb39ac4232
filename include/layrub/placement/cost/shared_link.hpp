#ifndef LAYRUB_PLACEMENT_COST_SHARED_LINK_HPP_
#define LAYRUB_PLACEMENT_COST_SHARED_LINK_HPP_

#include "layrub/placement/cost/machine.hpp"

namespace layrub {

/// What one of `devices` devices of `machine` has that train together on one link to the host: they
/// run in step and copy at the same time, so each has an equal part of its rates. The name says so.
Machine ShareLink(Machine machine, int devices);

}  // namespace layrub

#endif  // LAYRUB_PLACEMENT_COST_SHARED_LINK_HPP_
