#ifndef LAYRUB_RUNTIME_RECORDER_HPP_
#define LAYRUB_RUNTIME_RECORDER_HPP_

#include <cstdint>
#include <optional>
#include <vector>

#include "layrub/device/backend.hpp"
#include "layrub/placement/cost/timeline.hpp"
#include "layrub/placement/ir/plan.hpp"

namespace layrub {

/// Returns the lane that does `step`, or nothing for Wait and for steps that take no time.
std::optional<Lane> LaneOf(const Step& step);

/// Records when each step of an iteration begins and ends on its lane. Allocates in the constructor
/// only.
class Recorder {
 public:
  Recorder(const Plan& plan, Backend* backend);

  /// Begins an iteration.
  void Start();
  /// Call these before and after step `index` is queued.
  void Begin(int32_t index);
  void End(int32_t index);
  /// Ends the iteration and makes its timeline. All lanes must be idle. The timeline is empty if
  /// the iteration had more steps than the backend keeps times for (TicketTimes::kKept).
  void Finish();

  const Timeline& timeline() const { return timeline_; }

 private:
  const Plan& plan_;
  Backend* const backend_;
  Event start_;
  std::vector<Event> begins_, ends_;  ///< per step
  Timeline timeline_;
};

}  // namespace layrub

#endif  // LAYRUB_RUNTIME_RECORDER_HPP_
