#ifndef LAYRUB_BOUNDS_NEEDS_HPP_
#define LAYRUB_BOUNDS_NEEDS_HPP_

#include <vector>

#include "layrub/placement/ir/graph.hpp"

namespace layrub::bounds {

/// Returns, by tensor, the first forward operation that writes it; kNone for state tensors and
/// those of the backward pass.
std::vector<OpId> ForwardMakers(const Graph& graph);

/// Returns the variants of `op` that a lower bound has to consider. Leaves out a variant that
/// differs from another only in reading a saved copy in place of a tensor, if the forward operation
/// that saved the copy reads or writes that tensor, and the copy is no smaller. To keep, prefetch
/// or recompute the copy takes no less than the same for the tensor. `maker` is the result of
/// ForwardMakers.
std::vector<const Variant*> VariantsToConsider(const Graph& graph, const std::vector<OpId>& maker,
                                               const Op& op);

}  // namespace layrub::bounds

#endif  // LAYRUB_BOUNDS_NEEDS_HPP_
