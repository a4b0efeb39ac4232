#ifndef LAYRUB_PLACEMENT_COST_FASTEST_ALGORITHMS_HPP_
#define LAYRUB_PLACEMENT_COST_FASTEST_ALGORITHMS_HPP_

#include <cstdint>
#include <limits>
#include <optional>

#include "layrub/placement/cost/machine.hpp"
#include "layrub/placement/ir/graph.hpp"
#include "layrub/placement/ir/program.hpp"

namespace layrub::placement::cost {

inline constexpr int64_t kNoLimit = std::numeric_limits<int64_t>::max();

/// Gives each operation its fastest deterministic algorithm with which none of its runs needs more
/// than `bytes` of the device, if that is faster (OpSeconds) than the one that it has.
void TakeFastestAlgorithms(const Graph& graph, const Machine& machine, int64_t bytes,
                           Program* program);
/// Returns `program` with the fastest algorithms that do not increase its peak of live bytes.
/// Returns nothing if that changes nothing.
std::optional<Program> FasterAtSameSize(const Graph& graph, const Machine& machine,
                                        const Program& program);
/// The algorithm of `variant` that DefaultAlgorithm (base/algorithm_cost.hpp) chooses; kNone if
/// there is none.
int32_t DefaultAlgorithm(const Graph& graph, const Variant& variant);

}  // namespace layrub::placement::cost

#endif  // LAYRUB_PLACEMENT_COST_FASTEST_ALGORITHMS_HPP_
