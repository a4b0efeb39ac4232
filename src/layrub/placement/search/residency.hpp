#ifndef LAYRUB_PLACEMENT_SEARCH_RESIDENCY_HPP_
#define LAYRUB_PLACEMENT_SEARCH_RESIDENCY_HPP_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "layrub/placement/ir/buckets.hpp"
#include "layrub/placement/ir/decision.hpp"
#include "layrub/placement/ir/graph.hpp"
#include "layrub/placement/ir/uses.hpp"

namespace layrub::placement::search {

/// Whether a tensor is on the device between two uses.
enum Eviction : uint8_t {
  kNotEvicted,
  kEvicted,
  kPartlyEvicted,  ///< as few of its bytes leave as have to, if it comes back from the host
  kBarelyEvicted,  ///< so, and rather others' bytes leave
};

/// Some of its bytes may stay.
inline bool LeavesInPart(Eviction away) { return away == kPartlyEvicted || away == kBarelyEvicted; }

/// What a decision is about: what runs, and which tensors are away between which of their uses. All
/// else follows from that, so that it is easily changed. Nothing is whole.
struct Residency {
  std::vector<Run> runs;
  UseLists uses;  ///< FindUses(graph, runs)
  /// By tensor and use: it is away from the device from that use until the next one. If that is a
  /// recomputation that writes it anew, its value is dropped; else it is copied to the host and
  /// back. One that is marked keep may be away after its last use, and then ends in the host tier;
  /// state at home there always is. Empty: the tensor has no bytes of its own that could be given
  /// back.
  Buckets<Eviction> evictions;
  std::vector<Tier> homes;  ///< by tensor, see TensorDecision
  int64_t host_bytes = 0;   ///< see Decision
};

Residency ResidencyOf(const Graph& graph, const Decision& decision);

/// The value of `t` that is away from use number `use` on is dropped: what uses it next computes it
/// again.
bool IsDropped(const Residency& residency, TensorId t, size_t use);

/// Without the recomputation number `run`, and without those that nobody needs then. What it wrote
/// comes from where it was before: from the device if it was there, else from the host. `numbers`,
/// if not null, becomes the new number of each run, for one that is gone that of the run before.
Residency WithoutRun(const Graph& graph, const Residency& residency, RunId run,
                     std::vector<RunId>* numbers = nullptr);

/// With operation `op`, which can run again there, once more just before run `before`, so that what
/// it writes need not be there since its last use. What it reads and is away comes from the host
/// and leaves again.
Residency WithRun(const Graph& graph, const Residency& residency, RunId before, OpId op);

/// The decision: each range is given back at once, whole, and taken as late as possible; outputs
/// lie on inputs where that saves bytes. What leaves in part leaves whole here.
Decision Lower(const Graph& graph, const Residency& residency);

}  // namespace layrub::placement::search

#endif  // LAYRUB_PLACEMENT_SEARCH_RESIDENCY_HPP_
