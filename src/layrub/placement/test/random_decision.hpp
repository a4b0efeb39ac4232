#ifndef LAYRUB_PLACEMENT_TEST_RANDOM_DECISION_HPP_
#define LAYRUB_PLACEMENT_TEST_RANDOM_DECISION_HPP_

#include <cstdint>

#include "layrub/placement/ir/decision.hpp"
#include "layrub/placement/ir/graph.hpp"

namespace layrub::testing {

using namespace placement;  // NOLINT(google-build-using-namespace): tests look inside

/// A decision that no strategy would make: any variant, any algorithm, any allowed alias whose
/// input is used up, and any tensor evicted between any two uses, wholly or partly, copied back as
/// early or as late as possible, or dropped any number of times and recomputed when it is read,
/// with all that this takes. Every recomputation is needed. With `reckless`, it also has aliases,
/// whole tensors, drops and recomputations that ignore the other choices, so Schedule may refuse
/// it.
Decision RandomDecision(const Graph& graph, uint64_t seed, bool reckless);

/// Returns `decision` with packing set to reach its peak of live bytes, if Moves achieve that.
Decision WithPackingIntoPeak(const Graph& graph, Decision decision);

/// The number of Moves of a plan.
int64_t MovesIn(const Plan& plan);

}  // namespace layrub::testing

#endif  // LAYRUB_PLACEMENT_TEST_RANDOM_DECISION_HPP_
