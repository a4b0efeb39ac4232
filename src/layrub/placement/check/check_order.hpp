#ifndef LAYRUB_PLACEMENT_CHECK_CHECK_ORDER_HPP_
#define LAYRUB_PLACEMENT_CHECK_CHECK_ORDER_HPP_

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "layrub/placement/ir/plan.hpp"

namespace layrub::placement::check {

/// The partial order in which the timed steps of a plan run: program order within a lane, plus
/// Waits, transitively. Kept as vector clocks, one per step. Steps are given in program order.
class LaneOrder {
 public:
  explicit LaneOrder(size_t steps) : steps_(steps) {}

  /// Step number `step` runs on `lane`, after whatever that lane waits for.
  void Queue(int32_t step, Lane lane);
  /// What is queued on `lane` from now on starts after the queued step `step` has finished.
  void Wait(Lane lane, int32_t step);

  bool IsQueued(int32_t step) const { return steps_[step].lane != kNone; }
  /// Requires IsQueued(step).
  Lane LaneOf(int32_t step) const { return static_cast<Lane>(steps_[step].lane); }
  /// Has `earlier` certainly finished when `later` starts? Requires that both are queued.
  bool FinishedBefore(int32_t earlier, int32_t later) const;

 private:
  using Clock = std::array<int32_t, kLanes>;  // per lane, how many of its steps have finished
  struct Timed {
    int32_t lane = kNone;
    Clock before{};  // what has finished when the step starts; before[lane] is its own number
  };
  std::vector<Timed> steps_;
  std::array<Clock, kLanes> lanes_{};
};

/// The steps that touched the bytes of one arena last. Two accesses of the same byte, one of them a
/// write, conflict; every such pair must be ordered. It is enough to compare a new access with the
/// last write of each byte and, if it writes, with each lane's last read since then: older accesses
/// are ordered before those, or have been objected to already.
class AccessLog {
 public:
  /// Keeps a reference to `order`.
  explicit AccessLog(const LaneOrder& order) : order_(order) { segments_[0] = {}; }

  /// Records that the queued step `step` touches bytes [begin, end), 0 <= begin. Returns an earlier
  /// step that conflicts with it and is not ordered before it, or kNone.
  int32_t Read(int32_t step, int64_t begin, int64_t end);
  int32_t Write(int32_t step, int64_t begin, int64_t end);

 private:
  // The bytes from the segment's key to the next segment's key have the same history.
  struct Segment {
    int32_t writer = kNone;
    std::array<int32_t, kLanes> readers = kNoSteps;  // last reader of each lane since
  };
  using Segments = std::map<int64_t, Segment>;

  Segments::iterator Split(int64_t at);
  bool Unordered(int32_t earlier, int32_t later) const {
    return earlier != kNone && earlier != later && !order_.FinishedBefore(earlier, later);
  }

  const LaneOrder& order_;
  Segments segments_;
};

}  // namespace layrub::placement::check

#endif  // LAYRUB_PLACEMENT_CHECK_CHECK_ORDER_HPP_
