#ifndef LAYRUB_PLACEMENT_TEST_RANDOM_DECISION_HPP_
#define LAYRUB_PLACEMENT_TEST_RANDOM_DECISION_HPP_

#include <cstdint>

#include "layrub/placement/ir/decision.hpp"
#include "layrub/placement/ir/graph.hpp"

namespace layrub::testing {

using namespace placement;  // NOLINT(google-build-using-namespace): tests look inside

/// A decision such as no strategy would take: any form, any scratch variant, any allowed alias
/// whose input is used up, any tensor away from the device between any two uses, copied back as
/// early or as late as it likes, whole or in part, or dropped as often as
/// it likes and computed again when it is read, with all that this takes. Every recomputation is
/// needed. With `reckless`, it also asks for aliases, whole residences, drops and recomputations
/// without looking at what else is decided, so that Schedule may refuse.
Decision RandomDecision(const Graph& graph, uint64_t seed, bool reckless);

/// `decision`, packed into the bytes that live at its peak, if Moves do that.
Decision IntoItsPeak(const Graph& graph, Decision decision);

/// How many Moves a plan has.
int64_t MovesIn(const Plan& plan);

}  // namespace layrub::testing

#endif  // LAYRUB_PLACEMENT_TEST_RANDOM_DECISION_HPP_
