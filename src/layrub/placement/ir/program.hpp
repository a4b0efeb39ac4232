#ifndef LAYRUB_PLACEMENT_IR_PROGRAM_HPP_
#define LAYRUB_PLACEMENT_IR_PROGRAM_HPP_

#include <cstdint>
#include <vector>

#include "layrub/base/comparable.hpp"
#include "layrub/base/status.hpp"
#include "layrub/placement/ir/graph.hpp"
#include "layrub/placement/ir/plan.hpp"
#include "layrub/placement/ir/short_list.hpp"

namespace layrub::placement {

/// Index into Program::runs.
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

/// How many bytes of an evicted tensor are to leave the device.
enum class Leaves : uint8_t {
  kAll,
  kPart,    ///< if it comes back by a copy: as few as have to
  kBarely,  ///< like kPart, but it keeps bytes before those tensors do
};

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
  /// How search::LowerInTime chooses `stays`. Nothing else looks at it.
  Leaves leaves = Leaves::kAll;
  LAYRUB_COMPARABLE(Eviction)
};

/// Where state is between iterations, and where operations use it.
enum class StateHome : uint8_t {
  kDevice,   ///< it stays on the device, and has no evictions
  kAway,     ///< in host memory or in the file: it is brought to the device for its uses
  kInPlace,  ///< in host memory, where operations use it (Tensor::host_access); no evictions
};

struct TensorProgram {
  /// The tensor has a range during the whole iteration, or from the run that lays it on an input to
  /// the end. If false, it has one from its first to its last use, but for its evictions.
  bool whole = false;
  ShortList<Eviction> evictions;  ///< in order; empty when `whole`
  StateHome home = StateHome::kDevice;
  LAYRUB_COMPARABLE(TensorProgram)
};

/// Whether the tensor is state at home on the device.
inline bool IsResident(const Tensor& tensor, StateHome home) {
  return tensor.is_state() && home == StateHome::kDevice;
}
/// Whether the tensor is state that is used in its home. It has no evictions.
inline bool StaysHome(const Tensor& tensor, StateHome home) {
  return tensor.is_state() && home != StateHome::kAway;
}

/// What a strategy chooses for each run and each tensor. Scheduling turns it into steps, and
/// packing into addresses. A strategy never writes steps, so only one place has to make them valid.
struct Program {
  /// Every operation of the graph once, in the order of the graph, and recomputations of it
  /// anywhere after its first run. Without recomputations, runs[i].op == i.
  std::vector<Run> runs;
  std::vector<TensorProgram> tensors;  ///< one per Graph::tensors
  LAYRUB_COMPARABLE(Program)
};

/// Whether `op` may be recomputed: a repeatable forward operation that runs a layer.
bool IsRecomputable(const Op& op);
/// Whether `algorithm` of `variant` gives the same bits each time.
bool IsDeterministic(const Variant& variant, int32_t algorithm);

/// Checks that `runs` is for `graph` what Program::runs demands; aliases are not checked.
/// Returns kInvalid naming the operation and what is wrong with its run.
Status CheckProgram(const Graph& graph, const std::vector<Run>& runs);

}  // namespace layrub::placement

#endif  // LAYRUB_PLACEMENT_IR_PROGRAM_HPP_
