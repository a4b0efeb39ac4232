#ifndef LAYRUB_PLACEMENT_IR_OPERANDS_HPP_
#define LAYRUB_PLACEMENT_IR_OPERANDS_HPP_

#include <cstdint>
#include <span>
#include <vector>

#include "layrub/placement/ir/graph.hpp"
#include "layrub/placement/ir/program.hpp"
#include "layrub/placement/ir/short_list.hpp"

namespace layrub::placement {

/// Returns the pairs out of `candidates` that save the most bytes if each input carries at most one
/// output and each output lies on at most one input. Leaves out pairs whose output is larger than
/// the input and pairs with a state tensor. Sorted by output size, largest first.
ShortList<AliasPair> BestAliases(const Graph& graph, std::span<const AliasPair> candidates);

/// Device bytes of the operands of `variant`: each counted once, aligned, without outputs that may
/// lie on an input, state that is used in its home, and tensors t with skip[t] (`skip` may be
/// empty). The workspace comes on top. `homes` is by tensor; empty: all on the device.
int64_t OperandBytes(const Graph& graph, const Variant& variant, const std::vector<bool>& skip = {},
                     std::span<const StateHome> homes = {});

/// The algorithm of `variant` with the smallest workspace; of equals the first listed. 0 if
/// `variant` lists none.
int32_t SmallestAlgorithm(const Graph& graph, const Variant& variant);

/// Aligned bytes of the workspace of `algorithm` of `variant`; 0 if it needs none.
int64_t WorkspaceBytes(const Graph& graph, const Variant& variant, int32_t algorithm);

}  // namespace layrub::placement

#endif  // LAYRUB_PLACEMENT_IR_OPERANDS_HPP_
