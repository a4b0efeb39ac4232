#ifndef LAYRUB_PLACEMENT_IR_LIFETIMES_HPP_
#define LAYRUB_PLACEMENT_IR_LIFETIMES_HPP_

#include <cstdint>
#include <limits>
#include <vector>

#include "layrub/base/comparable.hpp"
#include "layrub/base/status.hpp"
#include "layrub/placement/ir/graph.hpp"
#include "layrub/placement/ir/program.hpp"
#include "layrub/placement/ir/short_list.hpp"
#include "layrub/placement/ir/uses.hpp"

namespace layrub::placement {

/// Runs `begin` to `end`, both included, during which the first `bytes` bytes of a tensor have a
/// range of the device. The part that stays during an eviction has an interval of its own, with
/// fewer bytes than the tensor, between the two of the whole tensor. It may last for no run at all.
struct LiveInterval {
  TensorId tensor = kNone;
  RunId begin = kNone;  ///< kNone: from the start of the plan
  RunId end = kNone;    ///< Program::runs.size(): to the end of the plan
  /// If a copy from the host tier brings the value at `begin`: the run that needs it. Otherwise
  /// kNone.
  RunId fetched_for = kNone;
  /// The tensor whose range it takes over at `begin`; kNone: a range of its own.
  TensorId on = kNone;
  int64_t bytes = 0;  ///< aligned bytes of the range; if `on` is set, those of the input's range
  /// Intervals joined by `on` share a block: one range of the device. A part has its own.
  int32_t block = kNone;
  LAYRUB_COMPARABLE(LiveInterval)
};

inline bool IsPart(const Graph& graph, const LiveInterval& interval) {
  return interval.bytes < Aligned(graph.tensors[interval.tensor].bytes);
}

/// The time during which a tensor has a range of a tier other than the device.
struct HostInterval {
  TensorId tensor = kNone;
  ShortList<RunId>
      offloads;  ///< runs after which the value is copied there; the first one begins the interval
  RunId end = kNone;  ///< Program::runs.size(): to the end of the plan
  int64_t from = 0;   ///< the first byte that is copied; the bytes before it stay on the device in
                      ///< all evictions
  bool home = false;  ///< from the start of the plan to its end, whatever is copied there
  Tier tier = Tier::kHost;  ///< or kFile: see SpillIntervals
  LAYRUB_COMPARABLE(HostInterval)
};

/// A program spelled out: where each tensor is during each run.
struct Lifetimes {
  /// Sorted by tensor, then by time; those of workspaces come last.
  std::vector<LiveInterval> intervals;
  std::vector<HostInterval> host;  ///< sorted by tensor; at most one for each tensor
  int32_t blocks = 0;
  std::vector<TensorId> readable;  ///< Plan::readable
  LAYRUB_COMPARABLE(Lifetimes)
};

/// The interval of `t` in Lifetimes::host; null if it has none.
const HostInterval* FindHostInterval(const Lifetimes& lives, TensorId t);

inline constexpr int64_t kUnlimitedHost = std::numeric_limits<int64_t>::max();

/// Finds the lifetimes of `program`, in at most `host_bytes` of host memory (see SpillIntervals).
/// Returns kInvalid naming the operation or tensor for which it asks something impossible.
Result<Lifetimes> FindLifetimes(const Graph& graph, const Program& program,
                                int64_t host_bytes = kUnlimitedHost);
/// The same for a caller that has `uses`, FindUses(graph, program.runs), and knows that
/// CheckProgram accepts the runs.
Result<Lifetimes> FindLifetimes(const Graph& graph, const Program& program, const UseLists& uses,
                                int64_t host_bytes = kUnlimitedHost);

}  // namespace layrub::placement

#endif  // LAYRUB_PLACEMENT_IR_LIFETIMES_HPP_
