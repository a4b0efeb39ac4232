#ifndef LAYRUB_PLACEMENT_IR_PLAN_WALK_HPP_
#define LAYRUB_PLACEMENT_IR_PLAN_WALK_HPP_

#include <array>
#include <cstdint>
#include <vector>

#include "layrub/placement/ir/graph.hpp"
#include "layrub/placement/ir/plan.hpp"

namespace layrub {

/// Bytes [offset, offset + bytes) of the arena of `tier`, from the step that takes them (for a
/// home: from the start) until the last tensor that is bound to them is freed.
struct LiveRange {
  Tier tier = Tier::kDevice;
  int64_t offset = 0;
  int64_t bytes = 0;        ///< aligned
  int64_t first = 0;        ///< the first byte of its tensor that it holds
  TensorId newest = kNone;  ///< the tensor that was bound to it last
  int32_t bound = 1;        ///< how many tensors are bound to it; 0: it has been freed
};

/// Bytes [begin, end) of an arena that a step reads or writes while it runs on its lane.
struct Access {
  TensorId tensor = kNone;
  int32_t range = kNone;  ///< index into PlanWalk::ranges()
  int64_t begin = 0;
  int64_t end = 0;
  bool writes = false;
};

/// Interprets the steps of a plan, one after the other in program order:
///
///     for (PlanWalk walk(graph, plan); walk.Next();) Look(walk.step(), walk.accesses());
///
/// All code that interprets steps uses this, except the check and the executor, which share no code
/// with the planner. The plan need not be proved, but no step may copy or free a tensor that has no
/// range. Offsets are not checked, so a plan whose ranges are not placed yet can be walked, too.
class PlanWalk {
 public:
  /// `graph` and `plan` must outlive the walk.
  PlanWalk(const Graph& graph, const Plan& plan);

  /// Goes on to the next step, which takes effect. Returns false after the last one.
  bool Next();
  const Step& step() const { return plan_.steps[number_]; }
  int32_t number() const { return number_; }

  /// All ranges so far, in the order in which they were taken.
  const std::vector<LiveRange>& ranges() const { return ranges_; }
  /// The index of the range of `tensor` in `tier`, or kNone.
  int32_t RangeOf(Tier tier, TensorId tensor) const { return range_of_[Index(tier)][tensor]; }

  /// What the current step touches, without empty ranges. A Move reads its old range and writes the
  /// new one.
  const std::vector<Access>& accesses() const { return accesses_; }
  /// Whether the access is to state at home on the device. Copies do not touch that.
  bool IsResident(const Access& access) const {
    return access.range < static_cast<int32_t>(plan_.homes.size()) &&
           ranges_[access.range].tier == Tier::kDevice;
  }

  /// The range that the current step takes, frees or changes, and by how many bytes it grows.
  /// kNone: there is no such range.
  struct Change {
    int32_t range = kNone;
    int64_t bytes = 0;
  };
  const Change& change() const { return change_; }
  /// How far the current step, a Move, takes its tensor, in bytes: up (> 0) or down.
  int64_t distance() const { return distance_; }
  int64_t live_bytes(Tier tier) const { return live_[Index(tier)]; }

 private:
  void Take(Tier tier, TensorId tensor, int64_t offset, int64_t begin, int64_t end);
  void GiveBack(const Step& step);
  void Bind(const Step& step);
  void Move(const Step& step);
  void Resize(int32_t range, int64_t bytes);
  void AddCopied(Tier tier, const Step& step, bool writes);
  void AddOperands(const Step& step);
  void Add(Tier tier, TensorId tensor, bool writes);

  const Graph& graph_;
  const Plan& plan_;
  int32_t number_ = kNone;
  std::array<std::vector<int32_t>, kTiers> range_of_;  ///< by tier and tensor
  std::vector<LiveRange> ranges_;
  std::vector<Access> accesses_;
  Change change_;
  int64_t distance_ = 0;
  std::array<int64_t, kTiers> live_{};  ///< by tier
};

}  // namespace layrub

#endif  // LAYRUB_PLACEMENT_IR_PLAN_WALK_HPP_
