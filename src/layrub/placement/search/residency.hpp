#ifndef LAYRUB_PLACEMENT_SEARCH_RESIDENCY_HPP_
#define LAYRUB_PLACEMENT_SEARCH_RESIDENCY_HPP_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "layrub/placement/cost/floor.hpp"
#include "layrub/placement/ir/buckets.hpp"
#include "layrub/placement/ir/decision.hpp"
#include "layrub/placement/ir/graph.hpp"
#include "layrub/placement/ir/uses.hpp"

namespace layrub::placement::search {

/// Whether a tensor is on the device between two uses.
enum EvictionKind : uint8_t {
  kNotEvicted,
  kEvicted,
  kPartlyEvicted,  ///< if it comes back by a copy: as few of its bytes leave as have to
  kBarelyEvicted,  ///< like kPartlyEvicted, but it keeps bytes before those tensors do
};

/// Whether some of its bytes may stay on the device.
inline bool LeavesInPart(EvictionKind away) {
  return away == kPartlyEvicted || away == kBarelyEvicted;
}

/// The essence of a decision: the runs, and which tensors are evicted between which of their uses.
/// All else follows, so it is easily changed. No tensor is TensorDecision::whole.
struct Residency {
  std::vector<Run> runs;
  UseLists uses;  ///< FindUses(graph, runs)
  /// By tensor and use: how the tensor is evicted from that use until the next one. If the next use
  /// is a recomputation that writes it without reading it, it is dropped; otherwise it is copied to
  /// the host and back. A tensor marked keep may be evicted after its last use, and then ends in
  /// the host tier; state at home there always is. Empty: the tensor has no bytes of its own that
  /// could be given back.
  Buckets<EvictionKind> evictions;
  cost::Homes homes;       ///< by tensor, see TensorDecision
  int64_t host_bytes = 0;  ///< see Decision
};

Residency ResidencyOf(const Graph& graph, const Decision& decision);

/// Whether the eviction of `t` after its use number `use` drops the value, so that the next use
/// recomputes it.
bool IsDropped(const Residency& residency, TensorId t, size_t use);

/// Returns `residency` without the recomputation `run` and without those that become needless.
/// Their outputs then stay where they were before: they stay on the device if they were there, and
/// otherwise come back from the host. If `numbers` is not null, it gets the new number of each run;
/// a removed run gets that of the run before it.
Residency WithoutRun(const Graph& graph, const Residency& residency, RunId run,
                     std::vector<RunId>* numbers = nullptr);

/// Returns `residency` with a recomputation of `op`, which must be possible there, just before run
/// `before`. Its outputs are dropped since their last use. What it reads and is evicted is
/// prefetched for it and evicted again.
Residency WithRun(const Graph& graph, const Residency& residency, RunId before, OpId op);

/// Returns the decision in which each range is given back at once and taken as late as possible,
/// and outputs lie on inputs where that saves bytes. Partly evicted tensors are evicted wholly
/// here.
Decision Lower(const Graph& graph, const Residency& residency);

}  // namespace layrub::placement::search

#endif  // LAYRUB_PLACEMENT_SEARCH_RESIDENCY_HPP_
