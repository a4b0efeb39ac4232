#ifndef LAYRUB_PLACEMENT_TEST_RANDOM_PROGRAM_HPP_
#define LAYRUB_PLACEMENT_TEST_RANDOM_PROGRAM_HPP_

#include <cstdint>

#include "layrub/placement/ir/graph.hpp"
#include "layrub/placement/ir/program.hpp"
#include "layrub/placement/pack/options.hpp"

namespace layrub::testing {

using namespace placement;  // NOLINT(google-build-using-namespace): tests look inside

/// A program that no strategy would make: any variant, any algorithm, any allowed alias whose
/// input is used up, and any tensor evicted between any two uses, wholly or partly, copied back as
/// early or as late as possible, or dropped any number of times and recomputed when it is read,
/// with all that this takes. Every recomputation is needed. With `reckless`, it also has aliases,
/// whole tensors, drops and recomputations that ignore the other choices, so Schedule may refuse
/// it.
Program RandomProgram(const Graph& graph, uint64_t seed, bool reckless);

/// How a random program is packed: in half of the cases, within a limit of host memory.
pack::Options RandomPacking(uint64_t seed);

/// Returns `options` with packing set to reach the peak of live bytes of `program`, if Moves
/// achieve that.
pack::Options IntoPeak(const Graph& graph, const Program& program, pack::Options options = {});

/// The number of Moves of a plan.
int64_t MovesIn(const Plan& plan);

}  // namespace layrub::testing

#endif  // LAYRUB_PLACEMENT_TEST_RANDOM_PROGRAM_HPP_
