#ifndef LAYRUB_PLACEMENT_SCHEDULE_HPP_
#define LAYRUB_PLACEMENT_SCHEDULE_HPP_

#include <cstdint>

#include "layrub/graph.hpp"
#include "layrub/placement/lifetimes.hpp"
#include "layrub/plan.hpp"
#include "layrub/strategy.hpp"

namespace layrub {

/// The steps of PackSteps, placed nowhere.
Plan StepsOf(const Graph& graph, const Decision& decision, const Lifetimes& lives);

/// Schedule for a decision whose lifetimes are known, but for the Waits, which AddWaits inserts:
/// all there is to know about the bytes of its plan.
Plan PackSteps(const Graph& graph, const Decision& decision, const Lifetimes& lives,
               int64_t padding = 0);

}  // namespace layrub

#endif  // LAYRUB_PLACEMENT_SCHEDULE_HPP_
