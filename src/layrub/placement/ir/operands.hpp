#ifndef LAYRUB_PLACEMENT_IR_OPERANDS_HPP_
#define LAYRUB_PLACEMENT_IR_OPERANDS_HPP_

#include <cstdint>
#include <span>
#include <vector>

#include "layrub/placement/ir/decision.hpp"
#include "layrub/placement/ir/graph.hpp"
#include "layrub/placement/ir/short_list.hpp"

namespace layrub::placement {

/// The pairs out of `candidates` that save the most bytes when each input carries at most one
/// output and each output lies on at most one input. Pairs whose output is larger than the input,
/// or that touch a state tensor, are left out. In order of falling output size.
ShortList<AliasPair> BestAliases(const Graph& graph, std::span<const AliasPair> candidates);

/// Device bytes that an operation in `form` needs besides scratch and state that is at home there:
/// its distinct operands, aligned, outputs that may lie on an input counted once. Tensors t with
/// skip[t] are left out; `skip` may be empty. `homes`, by tensor; empty: all on the device.
int64_t OperandBytes(const Graph& graph, const Form& form, const std::vector<bool>& skip = {},
                     std::span<const Tier> homes = {});

/// The variant of `form` with the fewest bytes of workspace, the first listed of equals; 0 if it
/// needs none.
int32_t SmallestScratch(const Graph& graph, const Form& form);

/// Aligned bytes of variant `scratch` of `form`; 0 if it needs none.
int64_t ScratchBytes(const Graph& graph, const Form& form, int32_t scratch);

}  // namespace layrub::placement

#endif  // LAYRUB_PLACEMENT_IR_OPERANDS_HPP_
