#ifndef LAYRUB_RUNTIME_RECORDER_HPP_
#define LAYRUB_RUNTIME_RECORDER_HPP_

#include <cstdint>
#include <optional>
#include <vector>

#include "layrub/device/backend.hpp"
#include "layrub/placement/cost/timeline.hpp"
#include "layrub/placement/ir/plan.hpp"

namespace layrub {

/// The lane that does `step`; none for steps that take no time and for Wait.
std::optional<Lane> LaneOf(const Step& step);

/// Notes when each step of an iteration begins and ends on its lane. Allocates in the constructor
/// only.
class Recorder {
 public:
  Recorder(const Plan& plan, Backend* backend);

  /// An iteration begins.
  void Start();
  /// To be called around the queueing of step `index`.
  void Begin(int32_t index);
  void End(int32_t index);
  /// Makes the timeline of the iteration that ends; all lanes must be idle. It is empty where the
  /// iteration had more steps than the backend remembers times (TicketTimes::kKept).
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
