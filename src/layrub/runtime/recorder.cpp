#include "layrub/runtime/recorder.hpp"

#include <algorithm>
#include <cmath>

namespace layrub {

namespace {

/// Whether the compute lane waits for a copy.
bool IsStall(const Step& step) {
  return step.kind == StepKind::kWait && step.lane == Lane::kCompute;
}

std::optional<Lane> RecordedLane(const Step& step) {
  return IsStall(step) ? Lane::kCompute : LaneOf(step);
}

}  // namespace

std::optional<Lane> LaneOf(const Step& step) {
  if (step.kind == StepKind::kRun || step.kind == StepKind::kCopy) return step.lane;
  return std::nullopt;
}

Recorder::Recorder(const Plan& plan, Backend* backend)
    : plan_(plan), backend_(backend), begins_(plan.steps.size()), ends_(plan.steps.size()) {
  timeline_.spans.reserve(plan.steps.size());
}

void Recorder::Start() {
  start_ = backend_->Record(Lane::kCompute);
  // A lane of copies may be the first to work.
  backend_->Wait(Lane::kLoad, start_);
  if (plan_.spill_bytes > 0) backend_->Wait(Lane::kFetch, start_);
}

void Recorder::Begin(int32_t index) {
  const std::optional<Lane> lane = RecordedLane(plan_.steps[index]);
  if (lane) begins_[index] = backend_->Record(*lane);
}

void Recorder::End(int32_t index) {
  const std::optional<Lane> lane = RecordedLane(plan_.steps[index]);
  if (lane) ends_[index] = backend_->Record(*lane);
}

void Recorder::Finish() {
  const double origin = backend_->SecondsOf(start_);
  double first = 0, last = 0;
  bool recorded = false, known = true;
  timeline_.spans.clear();
  timeline_.stalled = 0;
  for (size_t i = 0; i < plan_.steps.size(); ++i) {
    const Step& step = plan_.steps[i];
    const std::optional<Lane> lane = RecordedLane(step);
    if (!lane) continue;
    const double begin = backend_->SecondsOf(begins_[i]) - origin;
    const double end = backend_->SecondsOf(ends_[i]) - origin;
    known = known && std::isfinite(begin) && std::isfinite(end);
    // An iteration may begin with a wait for a lane that is still asleep.
    first = recorded ? std::min(first, begin) : begin;
    last = std::max(last, end);
    recorded = true;
    if (IsStall(step)) {
      timeline_.stalled += end - begin;
      continue;
    }
    timeline_.spans.push_back({static_cast<int32_t>(i), *lane, begin, end});
  }
  timeline_.seconds = last - first;
  if (known) return;
  timeline_.spans.clear();
  timeline_.seconds = timeline_.stalled = 0;
}

}  // namespace layrub
