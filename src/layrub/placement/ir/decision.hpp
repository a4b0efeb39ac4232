#ifndef LAYRUB_PLACEMENT_IR_DECISION_HPP_
#define LAYRUB_PLACEMENT_IR_DECISION_HPP_

#include <cstdint>
#include <limits>
#include <vector>

#include "layrub/base/comparable.hpp"
#include "layrub/placement/ir/graph.hpp"
#include "layrub/placement/ir/plan.hpp"
#include "layrub/placement/ir/short_list.hpp"

namespace layrub::placement {

/// Index into Decision::runs.
using RunId = int32_t;

/// One execution of an operation.
struct Run {
  OpId op = kNone;
  int32_t form = 0;
  int32_t scratch = 0;
  /// A subset of the form's may_alias. The input's value is not needed on the device after this
  /// run: it is its last use, or a gap begins here (an offloaded one whose host copy exists).
  ShortList<AliasPair> aliases;
  /// The operation, a forward one, has run before and runs again, in the same form and with the
  /// same deterministic workspace, for outputs that were dropped. It is repeatable, finds in its
  /// operands what it found the first time, and gives no tensor an older state. Persistent tensors
  /// that its form writes are left alone: neither read nor written.
  bool recompute = false;
  LAYRUB_COMPARABLE(Run)
};

inline const Form& FormOf(const Graph& graph, const Run& run) {
  return graph.ops[run.op].forms[run.form];
}

/// A stretch between two uses of a tensor in which it is away from the device. Uses are the runs
/// that read or write it.
///
/// State whose home is off the device is away from the start to its first use (`after` and
/// `release` are kNone) and from its last use to the end (`before` and `prefetch` are runs.size()).
/// What is marked keep may be away from its last use to the end, too; it is read from the host tier
/// then.
struct Gap {
  RunId after = kNone;     ///< the last use before the gap; the copy to the host is issued right
                           ///< after it (once per value)
  RunId release = kNone;   ///< after <= release < before: the device range is freed after this run
  RunId prefetch = kNone;  ///< release < prefetch <= before: range allocated and copy issued just
                           ///< before this run
  RunId before = kNone;    ///< the first use after the gap
  /// Nothing is copied: `before` writes the tensor without reading it. State, and a tensor marked
  /// keep, may not be away like that when the forward or the backward pass ends, unless the host
  /// tier has the value.
  bool dropped = false;
  /// It leaves in part: its first so many bytes, a multiple of kAlignment and not all, stay on the
  /// device, and are not copied unless another gap of it has fewer. Not if it is dropped, marked
  /// keep or state, or lies under an output of `after`.
  int64_t stays = 0;
  LAYRUB_COMPARABLE(Gap)
};

/// About when a range of the device is in use, in seconds from the start of the iteration.
struct Timing {
  double wanted = 0;  ///< it is touched for the first time
  double ready = 0;   ///< it has been touched for the last time
};

/// What packing may know of time. `moved_byte` and `piece` are what a Move takes (MoveSeconds);
/// where nothing is known, in proportion to one another.
struct Timings {
  std::vector<Timing> ranges;  ///< as FindLifetimes numbers their blocks; empty: unknown
  double moved_byte = 1;       ///< seconds
  double piece = 4 << 20;      ///< seconds besides, for each piece that a Move goes in
};

struct TensorDecision {
  /// Resident for the whole iteration, from its first run to the end; otherwise from first to last
  /// use.
  bool whole = false;
  ShortList<Gap> gaps;  ///< in order; empty when `whole`
  /// Of state: where it is between iterations. At home on the device it stays there, without gaps;
  /// kHost: it is off the device, in memory or in the file.
  Tier home = Tier::kDevice;
  LAYRUB_COMPARABLE(TensorDecision)
};

/// State that is at home on the device, where it has no gaps.
inline bool IsResident(const Tensor& tensor, Tier home) {
  return tensor.is_state() && home == Tier::kDevice;
}

/// Decision::host_bytes of a plan within `budget`. Without a file nothing spills: what is too much
/// is said instead.
inline int64_t HostBytes(const Budget& budget) {
  return budget.spill > 0 ? budget.host : std::numeric_limits<int64_t>::max();
}

/// What happens to each tensor; the scheduler says when and the packer where. A strategy returns
/// one of these and never writes steps, so that validity stays in one place.
struct Decision {
  /// The program: every operation of the graph once, in the graph's order, and, anywhere after the
  /// first run of an operation, recomputations of it. Without those, runs[i].op == i.
  std::vector<Run> runs;
  std::vector<TensorDecision> tensors;  ///< one per Graph::tensors
  /// Device bytes that are few enough: packing looks no further once it needs no more. Packed
  /// tighter, copies wait for one another more often.
  int64_t enough_bytes = 0;
  /// Bytes of host memory. What leaves the device and does not fit there goes to a file.
  int64_t host_bytes = std::numeric_limits<int64_t>::max();
  /// Packing in one go does, or, where that needs more, tensors are moved within the device between
  /// runs, as few as are found to do; so enough_bytes is reached more often, and sooner.
  bool may_move = false;
  /// Where they are known and tensors may move, ranges are given out one after the other, so that
  /// little waits for what lay there before.
  Timings timings;
};

}  // namespace layrub::placement

#endif  // LAYRUB_PLACEMENT_IR_DECISION_HPP_
