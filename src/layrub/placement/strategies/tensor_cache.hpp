#ifndef LAYRUB_PLACEMENT_STRATEGIES_TENSOR_CACHE_HPP_
#define LAYRUB_PLACEMENT_STRATEGIES_TENSOR_CACHE_HPP_

#include <cstdint>
#include <vector>

#include "layrub/graph.hpp"
#include "layrub/strategy.hpp"

namespace layrub {

/// Adds the offloaded gaps that come of running `decision` on a device of `capacity` bytes with a
/// cache of tensors: when a run finds no room, those of the `movable` tensors leave whose last use
/// is longest ago, operands of the run excepted; each comes back when a run uses it, or, if there
/// is room, when the backward of the conv-like operation before that run begins. So with enough
/// bytes nothing moves, and with a capacity of 0 movable tensors are there for their uses alone.
/// Tensors that have gaps, are persistent or marked keep do not move. Aliases are as they are. The
/// decision may need more than `capacity` where what cannot move does. Source: Wang et al.,
/// "SuperNeurons" (PPoPP 2018), section 3.3.
void CacheTensors(const Graph& graph, int64_t capacity, const std::vector<bool>& movable,
                  Decision* decision);

}  // namespace layrub

#endif  // LAYRUB_PLACEMENT_STRATEGIES_TENSOR_CACHE_HPP_
