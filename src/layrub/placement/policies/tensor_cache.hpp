#ifndef LAYRUB_PLACEMENT_POLICIES_TENSOR_CACHE_HPP_
#define LAYRUB_PLACEMENT_POLICIES_TENSOR_CACHE_HPP_

#include <cstdint>
#include <vector>

#include "layrub/placement/ir/buckets.hpp"
#include "layrub/placement/ir/decision.hpp"
#include "layrub/placement/ir/graph.hpp"
#include "layrub/placement/ir/uses.hpp"

namespace layrub::placement::policies {

/// A cache of tensors beside a decision: what is on the device while that runs.
class TensorCache {
 public:
  /// Of the `movable` tensors those that have gaps, are state or marked keep do not move after
  /// all. `uses` are those of the decision's runs. Refers to `graph`.
  TensorCache(const Graph& graph, const std::vector<bool>& movable, UseLists uses,
              Decision decision);

  /// The decision with the offloaded gaps that come of running it on a device of `capacity` bytes:
  /// when a run finds no room, those movable tensors leave whose last use is longest ago, operands
  /// of the run excepted; each comes back when a run uses it, or, if there is room, when the
  /// backward of the conv-like operation before that run begins. So with enough bytes nothing
  /// moves, and with a capacity of 0 movable tensors are there for their uses alone. Aliases are as
  /// they are. The result may need more than `capacity` where what cannot move does. A decision
  /// that cannot be scheduled is returned unchanged. Source: Wang et al., "SuperNeurons" (PPoPP
  /// 2018), section 3.3.
  Decision Within(int64_t capacity) const;

 private:
  const Graph& graph_;
  const Decision decision_;
  const UseLists uses_;
  /// By run; movable tensors count for as long as they would without the cache, first to last use.
  std::vector<int64_t> loads_;
  std::vector<int64_t> held_;    ///< by tensor: bytes until it first leaves; 0: it does not move
  Buckets<TensorId> used_at_;    ///< by run: movable tensors
  std::vector<bool> conv_like_;  ///< by run: the backward of a conv-like operation
};

}  // namespace layrub::placement::policies

#endif  // LAYRUB_PLACEMENT_POLICIES_TENSOR_CACHE_HPP_
