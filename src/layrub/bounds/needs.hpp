#ifndef LAYRUB_BOUNDS_NEEDS_HPP_
#define LAYRUB_BOUNDS_NEEDS_HPP_

#include <vector>

#include "layrub/placement/ir/graph.hpp"

namespace layrub::bounds {

/// By tensor, the forward operation that makes it; kNone for persistent tensors and those of
/// backward.
std::vector<OpId> ForwardMakers(const Graph& graph);

/// Instead of `copy` an operation may read `original`.
struct SavedCopy {
  TensorId copy = kNone;
  TensorId original = kNone;
};

/// Of an operation's forms those for which a bound from below may take the operation to run in one
/// of them. The others need in place of a tensor that a forward operation reads or writes a copy
/// that the same operation saved, no smaller: to have the copy there, to bring it back or to make
/// it again takes no less than that for the original.
struct Needs {
  std::vector<const Form*> forms;
  std::vector<SavedCopy> copies;  ///< what the other forms read instead
};

/// `maker` as ForwardMakers gives it.
Needs FindNeeds(const Graph& graph, const std::vector<OpId>& maker, const Op& op);

}  // namespace layrub::bounds

#endif  // LAYRUB_BOUNDS_NEEDS_HPP_
