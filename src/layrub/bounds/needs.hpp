#ifndef LAYRUB_BOUNDS_NEEDS_HPP_
#define LAYRUB_BOUNDS_NEEDS_HPP_

#include <vector>

#include "layrub/placement/ir/graph.hpp"

namespace layrub::bounds {

/// By tensor, the forward operation that makes it; kNone for state tensors and those of
/// backward.
std::vector<OpId> ForwardMakers(const Graph& graph);

/// Of an operation's forms those in one of which a bound from below may take it to run. The others
/// read, in place of a tensor that a forward operation reads or writes, a copy that the same
/// operation saved, no smaller: to have the copy there, to bring it back or to make it again takes
/// no less than that for the original. `maker` is that of ForwardMakers.
std::vector<const Form*> FormsToConsider(const Graph& graph, const std::vector<OpId>& maker,
                                         const Op& op);

}  // namespace layrub::bounds

#endif  // LAYRUB_BOUNDS_NEEDS_HPP_
