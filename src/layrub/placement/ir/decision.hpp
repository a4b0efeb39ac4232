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
  int32_t variant = 0;
  int32_t algorithm = 0;
  /// A subset of the variant's may_alias. The input of a pair must not be needed on the device
  /// after this run: this is its last use, or an eviction of it begins here (if it is offloaded,
  /// the host tier must already have its value).
  ShortList<AliasPair> aliases;
  /// This run repeats an earlier run of a forward operation, in the same variant and with the same
  /// deterministic algorithm, to restore outputs that were dropped. The operation must be
  /// repeatable, its operands must hold the values that they had in the first run, and no output
  /// may have been written since by another operation. State tensors that its variant writes are
  /// neither read nor written.
  bool recompute = false;
  LAYRUB_COMPARABLE(Run)
};

inline const Variant& VariantOf(const Graph& graph, const Run& run) {
  return graph.ops[run.op].variants[run.variant];
}

/// The time between two uses of a tensor during which it is not, or not wholly, on the device. A
/// use is a run that reads or writes the tensor.
///
/// State whose home is off the device has an eviction from the start of the plan to its first use
/// (`after` and `release` are kNone) and one from its last use to the end (`before` and `prefetch`
/// are runs.size()). A tensor marked keep may also be evicted from its last use to the end; it is
/// read from the host tier then.
struct Eviction {
  RunId after = kNone;    ///< the last use before the eviction; a value that the host tier lacks is
                          ///< offloaded right after it
  RunId release = kNone;  ///< after <= release < before: the device range is freed after this run
  RunId prefetch = kNone;  ///< release < prefetch <= before: the device range is allocated and the
                           ///< copy back is issued just before this run
  RunId before = kNone;    ///< the first use after the eviction
  /// Nothing is copied, and `before` must write the tensor without reading it. If the tensor is
  /// state or marked keep, it may be dropped across the end of the forward or backward pass only if
  /// the host tier has its value.
  bool dropped = false;
  /// The first `stays` bytes stay on the device: a multiple of kAlignment, less than the whole
  /// tensor. They are not copied unless another eviction of the tensor has a smaller `stays`. Must
  /// be 0 if the tensor is dropped, marked keep or state, or if an output of `after` lies on it.
  int64_t stays = 0;
  LAYRUB_COMPARABLE(Eviction)
};

/// When a range of the device is in use, roughly, in seconds from the start of the iteration.
struct Timing {
  double wanted = 0;  ///< when it is touched for the first time
  double ready = 0;   ///< when it has been touched for the last time
};

/// Times that packing may use. `moved_byte` and `piece` give the duration of a Move (see
/// MoveSeconds); with their defaults only the ratio of the two is meaningful.
struct Timings {
  std::vector<Timing> ranges;  ///< by block, as FindLifetimes numbers them; empty: unknown
  double moved_byte = 1;       ///< seconds
  double piece = 4 << 20;      ///< additional seconds for each piece in which a Move is done
};

/// Where state is between iterations, and where operations use it.
enum class StateHome : uint8_t {
  kDevice,   ///< it stays on the device, and has no evictions
  kAway,     ///< in host memory or in the file: it is brought to the device for its uses
  kInPlace,  ///< in host memory, where operations use it (Tensor::host_access); no evictions
};

struct TensorDecision {
  /// The tensor has a range during the whole iteration, or from the run that lays it on an input to
  /// the end. If false, it has one from its first to its last use, but for its evictions.
  bool whole = false;
  ShortList<Eviction> evictions;  ///< in order; empty when `whole`
  StateHome home = StateHome::kDevice;
  LAYRUB_COMPARABLE(TensorDecision)
};

/// Whether the tensor is state at home on the device.
inline bool IsResident(const Tensor& tensor, StateHome home) {
  return tensor.is_state() && home == StateHome::kDevice;
}
/// Whether the tensor is state that is used in its home. It has no evictions.
inline bool StaysHome(const Tensor& tensor, StateHome home) {
  return tensor.is_state() && home != StateHome::kAway;
}

/// Decision::host_bytes of a plan within `budget`. Unlimited if there is no spill file: then
/// nothing spills, and a plan that needs too much host memory is refused with the size that it
/// needs.
inline int64_t HostBytes(const Budget& budget) {
  return budget.spill > 0 ? budget.host : std::numeric_limits<int64_t>::max();
}

/// What a strategy chooses for each run and each tensor. Scheduling turns it into steps, and
/// packing into addresses. A strategy never writes steps, so only one place has to make them valid.
struct Decision {
  /// The program: every operation of the graph once, in the order of the graph, and recomputations
  /// of it anywhere after its first run. Without recomputations, runs[i].op == i.
  std::vector<Run> runs;
  std::vector<TensorDecision> tensors;  ///< one per Graph::tensors
  /// Packing stops once it needs at most this many device bytes. In a tighter packing, copies wait
  /// for one another more often.
  int64_t enough_bytes = 0;
  /// Limit of host memory. What leaves the device and does not fit there goes to a file.
  int64_t host_bytes = std::numeric_limits<int64_t>::max();
  /// If packing into fixed ranges needs more than enough_bytes, tensors may be moved within the
  /// device between runs, so that enough_bytes is reached more often, and sooner. Packing looks for
  /// few moves.
  bool may_move = false;
  /// If they are known and tensors may move, ranges are given out one after the other in order of
  /// time, each where it waits least for earlier users of its bytes.
  Timings timings;
};

}  // namespace layrub::placement

#endif  // LAYRUB_PLACEMENT_IR_DECISION_HPP_
