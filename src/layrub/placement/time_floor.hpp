#ifndef LAYRUB_PLACEMENT_TIME_FLOOR_HPP_
#define LAYRUB_PLACEMENT_TIME_FLOOR_HPP_

#include <cstdint>

#include "layrub/graph.hpp"
#include "layrub/machine.hpp"

namespace layrub {

/// At most TimeFloor, in a fifth of the time: for searches, which ask for many budgets.
double RoughTimeFloor(const Graph& graph, const Machine& machine, int64_t budget);

}  // namespace layrub

#endif  // LAYRUB_PLACEMENT_TIME_FLOOR_HPP_
