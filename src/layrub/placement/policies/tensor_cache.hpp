#ifndef LAYRUB_PLACEMENT_POLICIES_TENSOR_CACHE_HPP_
#define LAYRUB_PLACEMENT_POLICIES_TENSOR_CACHE_HPP_

#include <cstdint>
#include <vector>

#include "layrub/placement/ir/buckets.hpp"
#include "layrub/placement/ir/graph.hpp"
#include "layrub/placement/ir/program.hpp"
#include "layrub/placement/ir/uses.hpp"

namespace layrub::placement::policies {

/// A cache of tensors for a program: it chooses which tensors are on the device while the program
/// runs.
class TensorCache {
 public:
  /// Tensors of `movable` that have evictions, are state or are marked keep do not move. `uses` are
  /// those of the program's runs. Keeps a reference to `graph`.
  TensorCache(const Graph& graph, const std::vector<bool>& movable, UseLists uses, Program program);

  /// Returns the program with the offloaded evictions that result from running it on a device of
  /// `capacity` bytes. If a run lacks bytes, the movable tensors whose last use is longest ago are
  /// evicted, except for operands of the run. A tensor comes back when a run uses it or, if there
  /// are bytes left, when the backward of the conv-like operation before that run begins. So with
  /// enough bytes nothing moves, and with a capacity of 0 movable tensors are on the device only
  /// while they are used. Aliases do not change. The result exceeds `capacity` if the tensors that
  /// cannot move do. A program that cannot be scheduled is returned unchanged. Source: Wang et
  /// al., "SuperNeurons" (PPoPP 2018), section 3.3.
  Program Within(int64_t capacity) const;

 private:
  const Graph& graph_;
  const Program program_;
  const UseLists uses_;
  /// By run: live bytes. Movable tensors count from their first to their last use, as without the
  /// cache.
  std::vector<int64_t> loads_;
  std::vector<int64_t>
      held_;  ///< by tensor: bytes of its range until its first eviction; 0: it does not move
  Buckets<TensorId> used_at_;    ///< by run: the movable tensors that it uses
  std::vector<bool> conv_like_;  ///< by run: whether it is the backward of a conv-like operation
};

}  // namespace layrub::placement::policies

#endif  // LAYRUB_PLACEMENT_POLICIES_TENSOR_CACHE_HPP_
