#ifndef LAYRUB_PLACEMENT_IR_PLAN_HPP_
#define LAYRUB_PLACEMENT_IR_PLAN_HPP_

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "layrub/base/comparable.hpp"
#include "layrub/base/status.hpp"
#include "layrub/placement/ir/graph.hpp"

namespace layrub {

/// Queues that run side by side. The steps of one lane run in plan order.
enum class Lane : uint8_t {
  kCompute,  ///< runs operations, and moves values within the device
  kSave,     ///< offloads: device -> host tier
  kLoad,     ///< prefetches: host tier -> device; feeds
  kSpill,    ///< offloads: device -> file tier
  kFetch,    ///< prefetches: file tier -> device
};
inline constexpr int kLanes = 5;
inline constexpr size_t Index(Lane lane) { return static_cast<size_t>(lane); }
/// For each lane, a step number: none.
inline constexpr std::array<int32_t, kLanes> kNoSteps = [] {
  std::array<int32_t, kLanes> steps{};
  for (int32_t& step : steps) step = kNone;  // programs in C++17 include this
  return steps;
}();

/// The memories of a plan. What leaves the device goes to host memory or to a file.
enum class Tier : uint8_t { kDevice, kHost, kFile };
inline constexpr int kTiers = 3;
inline constexpr size_t Index(Tier tier) { return static_cast<size_t>(tier); }
/// The lane that copies from the device to `tier`, another tier, and the lane that copies back.
inline constexpr Lane OffloadLane(Tier tier) {
  return tier == Tier::kFile ? Lane::kSpill : Lane::kSave;
}
inline constexpr Lane PrefetchLane(Tier tier) {
  return tier == Tier::kFile ? Lane::kFetch : Lane::kLoad;
}

enum class StepKind : uint8_t {
  kAlloc,  ///< gives bytes [begin, end) of `tensor` a place in `tier`, bytes [offset + begin,
           ///< offset + end), aligned; contents undefined. If the tensor has other bytes there
           ///< already, these adjoin them and have the same `offset`
  kFree,   ///< frees bytes [begin, end) of `tensor` in `tier`; no later step of the plan may touch
           ///< them. The rest of the tensor, a part, keeps its place and contents, and only Copies
           ///< may touch it until the tensor is whole again
  kAlias,  ///< binds `tensor`, which has no range yet, to the device range of `on`. The next
           ///< operation may use both, if its variant allows it; once it has written `tensor`, the
           ///< value of `on` is lost. The range is freed with the last tensor bound to it
  kCopy,   ///< copies bytes [begin, end) of `tensor` from its range in the tier `from` to that in
           ///< `tier`: an offload on OffloadLane, a prefetch on PrefetchLane. Within the device, on
           ///< the compute lane, it is a move: everything that `tensor` has there goes to the place
           ///< that an Alloc with this `offset` would give it, and its old bytes outside that place
           ///< are freed. No other tensor may be bound to the range, and the new place may overlap
           ///< no live range but the old one
  kRun,  ///< runs `op` in variant `variant` by algorithm `algorithm`, on the compute lane or, for a
         ///< feed, on the load lane. `again`: it is a recomputation, with the variant and algorithm
         ///< of the first run, for outputs that were dropped; state tensors that the variant writes
         ///< are left alone
  kWait,  ///< lets later steps of `lane` start only when step number `step`, of another lane, has
          ///< finished
};

/// Whether a recomputation (Step::recompute) in `variant` touches its operand `tensor`. It does,
/// unless that is a state tensor that the variant writes.
bool TouchedByRecomputation(const Graph& graph, const Variant& variant, TensorId tensor);

/// Plain data. Fields that StepKind does not mention for a kind keep their defaults. In a range
/// [begin, end) of a tensor's bytes, `begin` is a multiple of kAlignment, and so is `end` unless
/// the tensor ends there.
struct Step {
  StepKind kind = StepKind::kAlloc;
  Lane lane = Lane::kCompute;
  Tier tier = Tier::kDevice;
  Tier from = Tier::kDevice;
  TensorId tensor = kNone;
  TensorId on = kNone;
  OpId op = kNone;
  int32_t variant = 0;
  int32_t algorithm = 0;
  bool recompute = false;
  int32_t step = kNone;
  int64_t offset = 0;
  int64_t begin = 0;
  int64_t end = 0;
  LAYRUB_COMPARABLE(Step)
};

inline bool IsOffload(const Step& step) {
  return step.kind == StepKind::kCopy && step.from == Tier::kDevice && step.tier != Tier::kDevice;
}
inline bool IsPrefetch(const Step& step) {
  return step.kind == StepKind::kCopy && step.from != Tier::kDevice && step.tier == Tier::kDevice;
}
inline bool IsMove(const Step& step) {
  return step.kind == StepKind::kCopy && step.from == step.tier;
}
/// Whether `step` is the first Run of an operation of this kind.
inline bool IsRun(const Graph& graph, const Step& step, OpKind kind) {
  return step.kind == StepKind::kRun && !step.recompute && graph.ops[step.op].kind == kind;
}
/// Whether `step`, a Copy, Alloc or Free, covers its whole tensor.
inline bool IsWhole(const Graph& graph, const Step& step) {
  return step.begin == 0 && step.end == graph.tensors[step.tensor].bytes;
}

/// Where a state tensor is at the start and at the end of an iteration. It owns [offset, offset +
/// its aligned bytes) of `tier` all the time.
struct Home {
  TensorId tensor = kNone;
  Tier tier = Tier::kDevice;
  int64_t offset = 0;
  LAYRUB_COMPARABLE(Home)
};

/// A whole iteration as a list of steps in program order. Alloc, Free and Alias take effect in
/// program order and take no time; the others are queued on their lanes. A plan starts and ends
/// with all lanes idle. A tensor of zero bytes has a home, or Alloc and Free steps, too.
///
/// For example: x, of 512 bytes, is written, offloaded while y takes its bytes, and prefetched to
/// other bytes for its last use.
///
///     step                         device             host
///      0  alloc device x 0         x [0, 512)
///      1  run make                 x is written
///      2  alloc host x 0                              x [0, 512)
///      3  wait save for 1
///      4  copy device host x       x is read     ->   x is written    (lane save)
///      5  free device x            -
///      6  alloc device y 0         y [0, 512)
///      7  wait compute for 4                          or y would be written before x is saved
///      8  run other                y is written
///      9  alloc device x 512       x [512, 1024)
///     10  copy host device x       x is written  <-   x is read       (lane load, beside step 8)
///     11  free host x                                 -
///     12  wait compute for 10
///     13  run use                  x is read
struct Plan {
  std::string strategy;
  /// One for each state tensor, in order of tensors. A tensor at home on the device has no Alloc,
  /// Free or Alias there, and does not move. A tensor at home in another tier is copied to the
  /// device for its uses, and back after it has been written. If it is at home in host memory and
  /// has Tensor::host_access, operations use it there whenever it has no range of the device.
  std::vector<Home> homes;
  std::vector<Step> steps;
  /// steps[0 .. pass_end[0]) belong to the forward pass, [pass_end[0] .. pass_end[1]) to the
  /// backward pass and the rest up to pass_end[2] == steps.size() to the update.
  std::array<int32_t, 3> pass_end{0, 0, 0};
  /// Tensors, not state, that the plan deliberately leaves in place at its end, on the device or in
  /// another tier. Sorted. Exactly these are still allocated when the plan ends.
  std::vector<TensorId> readable;
  int64_t device_bytes = 0;  ///< size of the device arena
  int64_t host_bytes = 0;    ///< size of the host arena
  int64_t spill_bytes = 0;   ///< size of the file
  LAYRUB_COMPARABLE(Plan)
};

/// Bytes a plan may use. By default device and host are unlimited, and there is no file.
struct Budget {
  int64_t device = std::numeric_limits<int64_t>::max();
  int64_t host = std::numeric_limits<int64_t>::max();
  int64_t spill = 0;  ///< in a file, for what does not fit into `host`
  /// Bytes of `device` that others hold; a plan may use the rest.
  int64_t reserved = 0;
  /// Parameters, gradients and history may be at home off the device.
  bool offload_state = true;
};

/// A budget without limits, in which plans with a file fit, too.
inline constexpr Budget kUnlimitedBudget{std::numeric_limits<int64_t>::max(),
                                         std::numeric_limits<int64_t>::max(),
                                         std::numeric_limits<int64_t>::max()};

/// Whether what `plan` uses off the device is within `budget`.
inline bool FitsOffDevice(const Plan& plan, const Budget& budget) {
  return plan.host_bytes <= budget.host && plan.spill_bytes <= budget.spill;
}

/// Returns where the homes on the device end: Schedule puts them at the bottom of the arena. The
/// bytes above hold nothing between iterations except what `readable` names.
int64_t HomeBytes(const Graph& graph, const Plan& plan);

/// Writes and reads the text format (docs/plan-format.md): tensors and operations by name, waits by
/// step number. PlanFromText(ToText(p, g), g) == p. Errors name the line.
std::string ToText(const Plan& plan, const Graph& graph);
Result<Plan> PlanFromText(const std::string& text, const Graph& graph);

/// Where the plan is fullest: live bytes (aligned ranges, aliased bytes once) at each operation.
struct Peak {
  int64_t bytes = 0;  ///< live bytes at `op`; at most Plan::device_bytes
  OpId op = kNone;    ///< the operation during which the most bytes are live
  /// Bytes by role at `op`, in the order of Role. With `unused`, the bytes that packing leaves
  /// free, they sum to Plan::device_bytes.
  std::array<int64_t, 8> by_role{};
  int64_t unused = 0;
};
Peak FindPeak(const Graph& graph, const Plan& plan);

/// Returns the bytes that `step` copies to or from the device, feeds included; 0 for other steps.
int64_t CopiedBytes(const Graph& graph, const Step& step);
/// Returns the tensor that `step`, a Copy or a feed, copies; for a feed of several tensors, the
/// first.
TensorId CopiedTensor(const Graph& graph, const Step& step);

/// The name in the text format: "alloc", "copy", "run".
const char* Name(StepKind kind);
/// The name for people: as Name, but "offload", "prefetch" and "move" for Copies, and "compute",
/// "recompute", "update", "fill" or "feed" for Runs.
const char* Verb(const Graph& graph, const Step& step);
const char* Name(Lane lane);
const char* Name(Tier tier);

}  // namespace layrub

#endif  // LAYRUB_PLACEMENT_IR_PLAN_HPP_
