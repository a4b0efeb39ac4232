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

/// Queues that run side by side; steps of one lane run in plan order.
enum class Lane : uint8_t {
  kCompute,  ///< runs operations, and moves values within the device
  kSave,     ///< offloads: device -> host tier
  kLoad,     ///< prefetches: host tier -> device; feeds
  kSpill,    ///< offloads: device -> file tier
  kFetch,    ///< prefetches: file tier -> device
};
inline constexpr int kLanes = 5;
inline constexpr size_t Index(Lane lane) { return static_cast<size_t>(lane); }
/// A step number for each lane: none.
inline constexpr std::array<int32_t, kLanes> kNoSteps = [] {
  std::array<int32_t, kLanes> steps{};
  for (int32_t& step : steps) step = kNone;  // programs in C++17 include this
  return steps;
}();

/// The memories of a plan. What leaves the device goes to host memory or to a file.
enum class Tier : uint8_t { kDevice, kHost, kFile };
inline constexpr int kTiers = 3;
inline constexpr size_t Index(Tier tier) { return static_cast<size_t>(tier); }
/// The lane that copies from the device to `tier`, which is another, and the one that copies back.
inline constexpr Lane OffloadLane(Tier tier) {
  return tier == Tier::kFile ? Lane::kSpill : Lane::kSave;
}
inline constexpr Lane PrefetchLane(Tier tier) {
  return tier == Tier::kFile ? Lane::kFetch : Lane::kLoad;
}

enum class StepKind : uint8_t {
  kAlloc,  ///< bytes [begin, end) of `tensor` have bytes [offset + begin, offset + end) of `tier`,
           ///< aligned, from here on; contents undefined. Where the tensor has others there, they
           ///< adjoin these and have the same `offset`
  kFree,  ///< `tensor` gives its bytes [begin, end) in `tier` back; nothing may touch them later in
          ///< the plan. What it keeps, a part, stays in place with what it holds, and only Copies
          ///< may touch it before the rest is there again
  kAlias,  ///< `tensor` (no range yet) is bound to the device range of `on`; both may be used by
           ///< the next operation, whose form must allow it; the value of `on` is gone once that
           ///< operation has written `tensor`. The range is given back when the last tensor bound
           ///< to it is freed
  kCopy,   ///< copy bytes [begin, end) of `tensor` from its range in the tier `from` to that in
           ///< `tier`: an offload on OffloadLane, a prefetch on PrefetchLane. Within the device,
           ///< on the compute lane, it is a move: all that is there of `tensor`, to whose range no
           ///< other is bound, goes to the place that an Alloc with this `offset` would give, which
           ///< overlaps no live range but perhaps its own; it gives back what else it had
  kRun,    ///< run `op` in form `form` with scratch variant `scratch`: on the compute lane, or, a
           ///< feed, on the load lane. `again`: run it as it has run before, for outputs that were
           ///< dropped; state tensors that its form writes are left alone
  kWait,   ///< the later steps of `lane` start only after step number `step` (of another lane) has
           ///< finished
};

/// Whether running an operation in `form` again (Step::again) touches its operand `tensor`: it does
/// unless that is a state tensor that the form writes.
bool TouchedAgain(const Graph& graph, const Form& form, TensorId tensor);

/// Plain data. Fields that a kind does not name above keep their defaults. Of the bytes [begin,
/// end) of a tensor, `begin` is a multiple of kAlignment, and so is `end` unless the tensor ends
/// there.
struct Step {
  StepKind kind = StepKind::kAlloc;
  Lane lane = Lane::kCompute;
  Tier tier = Tier::kDevice;
  Tier from = Tier::kDevice;
  TensorId tensor = kNone;
  TensorId on = kNone;
  OpId op = kNone;
  int32_t form = 0;
  int32_t scratch = 0;
  bool again = false;
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
/// A Run of an operation of this kind, for the first time.
inline bool IsRun(const Graph& graph, const Step& step, OpKind kind) {
  return step.kind == StepKind::kRun && !step.again && graph.ops[step.op].kind == kind;
}
/// A Copy of all of `tensor`, or an Alloc or Free of it.
inline bool IsWhole(const Graph& graph, const Step& step) {
  return step.begin == 0 && step.end == graph.tensors[step.tensor].bytes;
}

/// Where a state tensor is when an iteration begins and when it ends: it owns [offset, offset + its
/// aligned bytes) of `tier` all the time.
struct Home {
  TensorId tensor = kNone;
  Tier tier = Tier::kDevice;
  int64_t offset = 0;
  LAYRUB_COMPARABLE(Home)
};

/// A whole iteration as a list of steps in program order. Alloc, Free and Alias take effect in
/// program order and take no time; the others are queued on their lanes. A plan starts and ends
/// with all lanes idle. A tensor whose bytes are zero has a home, or Alloc and Free steps, too.
///
/// For example: x, of 512 bytes, is made, is in the host tier while y takes its bytes, and comes
/// back for its last use, to other bytes.
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
  /// One for each state tensor, in order of tensors. What is at home on the device has no Alloc,
  /// Free or Alias there, and does not move. What is at home in another tier is copied to the
  /// device for its uses, and back once it has been written.
  std::vector<Home> homes;
  std::vector<Step> steps;
  /// steps[0 .. pass_end[0]) belong to the forward pass, [pass_end[0] .. pass_end[1]) to the
  /// backward pass and the rest up to pass_end[2] == steps.size() to the update.
  std::array<int32_t, 3> pass_end{0, 0, 0};
  /// Tensors that are not state left in place at the end on purpose: on the device, or in another
  /// tier. Sorted. Exactly these are still allocated when the plan ends.
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
  /// Out of `device`: what others hold there, so that a plan may use the rest.
  int64_t reserved = 0;
  /// Parameters, gradients and history may be at home off the device, where nothing else fits.
  bool offload_state = true;
};

/// All plans lie within this, those with a file, too.
inline constexpr Budget kNoBounds{std::numeric_limits<int64_t>::max(),
                                  std::numeric_limits<int64_t>::max(),
                                  std::numeric_limits<int64_t>::max()};

/// What `plan` takes off the device lies within `budget`.
inline bool FitsOffDevice(const Plan& plan, const Budget& budget) {
  return plan.host_bytes <= budget.host && plan.spill_bytes <= budget.spill;
}

/// Where the homes on the device end: Schedule puts them at the bottom of the arena. What lies
/// above holds nothing between iterations but what `readable` names.
int64_t HomeBytes(const Graph& graph, const Plan& plan);

/// The documented text format (docs/plan-format.md): tensors and operations by name, waits by step
/// number. PlanFromText(ToText(p, g), g) == p; errors name the line.
std::string ToText(const Plan& plan, const Graph& graph);
Result<Plan> PlanFromText(const std::string& text, const Graph& graph);

/// Where the plan is fullest: live bytes (aligned ranges, aliased bytes once) at each operation.
struct Peak {
  int64_t bytes = 0;  ///< live bytes at `op`; at most Plan::device_bytes
  OpId op = kNone;    ///< the operation during which the most bytes are live
  /// Bytes by role at `op`, in the order of Role; sums to Plan::device_bytes: what packing leaves
  /// unused is `gaps`.
  std::array<int64_t, 8> by_role{};
  int64_t gaps = 0;
};
Peak FindPeak(const Graph& graph, const Plan& plan);

/// Bytes that `step` copies between host and device, feeds included; 0 for what copies nothing.
int64_t CopiedBytes(const Graph& graph, const Step& step);
/// What `step`, a Copy or a feed, copies; of a feed of several tensors, the first.
TensorId CopiedTensor(const Graph& graph, const Step& step);

/// As texts of plans have it: "alloc", "copy", "run".
const char* Name(StepKind kind);
/// For people: as Name, but "offload", "prefetch" and "move" for Copies, and, for Runs, "compute",
/// "recompute", "update", "fill" or "feed".
const char* Verb(const Graph& graph, const Step& step);
const char* Name(Lane lane);
const char* Name(Tier tier);

}  // namespace layrub

#endif  // LAYRUB_PLACEMENT_IR_PLAN_HPP_
