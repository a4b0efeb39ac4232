#ifndef LAYRUB_PLACEMENT_STRATEGIES_DRAFT_HPP_
#define LAYRUB_PLACEMENT_STRATEGIES_DRAFT_HPP_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "layrub/graph.hpp"
#include "layrub/placement/buckets.hpp"
#include "layrub/placement/uses.hpp"
#include "layrub/strategy.hpp"

namespace layrub {

/// Whether a tensor is on the device between two uses.
enum Away : uint8_t {
  kThere,
  kAway,
  kPartlyAway,  ///< as few of its bytes leave as have to, if it comes back from the host
  kBarelyAway,  ///< so, and rather others' bytes leave
};

/// Some of its bytes may stay.
inline bool LeavesInPart(Away away) { return away == kPartlyAway || away == kBarelyAway; }

/// What a decision is about: what runs, and which tensors are away between which of their uses. All
/// else follows from that, so that it is easily changed. Nothing is whole.
struct Draft {
  std::vector<Run> runs;
  UseLists uses;  ///< FindUses(graph, runs)
  /// By tensor and use: it is away from the device from that use until the next one. If that is a
  /// recomputation that writes it anew, its value is dropped; else it is copied to the host and
  /// back. Empty: the tensor has no bytes of its own that could be given back.
  Buckets<Away> away;
};

Draft DraftOf(const Graph& graph, const Decision& decision);

/// The value of `t` that is away from use number `use` on is dropped: what uses it next computes it
/// again.
bool IsDropped(const Draft& draft, TensorId t, size_t use);

/// Without the recomputation number `run`, and without those that nobody needs then. What it wrote
/// comes from where it was before: from the device if it was there, else from the host. `numbers`,
/// if not null, becomes the new number of each run, for one that is gone that of the run before.
Draft WithoutRun(const Graph& graph, const Draft& draft, RunId run,
                 std::vector<RunId>* numbers = nullptr);

/// With operation `op`, which can run again there, once more just before run `before`, so that what
/// it writes need not be there since its last use. What it reads and is away comes from the host
/// and leaves again.
Draft WithRun(const Graph& graph, const Draft& draft, RunId before, OpId op);

/// The decision: each range is given back at once, whole, and taken as late as possible; outputs
/// lie on inputs where that saves bytes. What leaves in part leaves whole here.
Decision Spell(const Graph& graph, const Draft& draft);

}  // namespace layrub

#endif  // LAYRUB_PLACEMENT_STRATEGIES_DRAFT_HPP_
