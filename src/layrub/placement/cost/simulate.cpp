#include <algorithm>
#include <array>
#include <vector>

#include "layrub/placement/cost/timeline.hpp"

namespace layrub {
namespace {

constexpr double kShortestSeconds = 1e-12;  ///< seconds; shorter than anything a machine does

/// Whether the step copies over the link or to the file, so that each byte takes time.
bool IsLinked(const Step& step) {
  return IsOffload(step) || IsPrefetch(step) ||
         (step.kind == StepKind::kRun && step.lane != Lane::kCompute);
}

/// One lane: its steps and Waits in plan order, and what it is doing.
struct Queue {
  std::vector<int32_t> steps;
  size_t next = 0;
  int32_t running = kNone;
  double seconds_left = 0;  ///< of latency or of an operation
  double bytes_left = 0;    ///< of a copy, once the latency is over
  bool moving_bytes() const { return running != kNone && seconds_left <= 0; }
};

class Simulation {
 public:
  Simulation(const Graph& graph, const Plan& plan, const Machine& machine)
      : graph_(graph),
        plan_(plan),
        machine_(machine),
        distances_(MoveDistances(graph, plan)),
        in_host_memory_(HostAccessBytes(graph, plan)),
        spans_(plan.steps.size()),
        finished_(plan.steps.size()) {
    for (int32_t i = 0; i < static_cast<int32_t>(plan.steps.size()); ++i) {
      const Step& step = plan.steps[i];
      if (step.kind == StepKind::kWait || step.kind == StepKind::kCopy ||
          step.kind == StepKind::kRun) {
        queues_[Index(step.lane)].steps.push_back(i);
      }
    }
  }

  Timeline Run() {
    while (true) {
      StartAll();
      SetRates();
      const double pause = TimeToNextEvent();
      if (pause == kNever) return Collect();
      now_ += pause;
      for (int lane = 0; lane < kLanes; ++lane) Advance(&queues_[lane], Speed(lane), pause);
    }
  }

 private:
  /// Sets the current rate of each lane: bytes a second for a copy, where both directions of the
  /// link at once share Machine::link_both, and a fraction of its own speed for an operation.
  /// Copies over the link do not slow down the file.
  void SetRates() {
    const bool saving = queues_[Index(Lane::kSave)].moving_bytes();
    const bool loading = queues_[Index(Lane::kLoad)].moving_bytes();
    const bool spilling = queues_[Index(Lane::kSpill)].moving_bytes();
    const bool fetching = queues_[Index(Lane::kFetch)].moving_bytes();
    const bool computing = queues_[Index(Lane::kCompute)].running != kNone;
    const double sum = machine_.link_down + machine_.link_up;
    const double beside = computing ? machine_.copy_while_computing : 1.0;
    const double share =
        (saving && loading ? std::min(1.0, machine_.link_both / sum) : 1.0) * beside;
    rates_[Index(Lane::kSave)] = machine_.link_down * share;
    rates_[Index(Lane::kLoad)] = machine_.link_up * share;
    rates_[Index(Lane::kSpill)] = machine_.file_write * beside;
    rates_[Index(Lane::kFetch)] = machine_.file_read * beside;
    const bool copying = saving || loading || spilling || fetching;
    rates_[Index(Lane::kCompute)] = copying ? machine_.compute_while_copying : 1.0;
  }

  /// The current rate of `lane`; 1 during the latency of a copy.
  double Speed(int lane) const {
    const bool waits = lane != static_cast<int>(Lane::kCompute) && !queues_[lane].moving_bytes();
    return waits ? 1.0 : rates_[lane];
  }

  double TimeToNextEvent() const {
    double pause = kNever;
    for (int lane = 0; lane < kLanes; ++lane) {
      const Queue& queue = queues_[lane];
      if (queue.running == kNone) continue;
      const double left = queue.moving_bytes() ? queue.bytes_left : queue.seconds_left;
      pause = std::min(pause, left > 0 ? left / Speed(lane) : 0);
    }
    return pause;
  }

  void Advance(Queue* queue, double speed, double pause) {
    if (queue->running == kNone) return;
    // What would end within the rounding error of the clock ends now, so that time always advances.
    if (queue->moving_bytes()) {
      queue->bytes_left -= pause * speed;
      if (queue->bytes_left > speed * kShortestSeconds) return;
    } else {
      queue->seconds_left -= pause * speed;
      if (queue->seconds_left > kShortestSeconds) return;
      queue->seconds_left = 0;
      if (queue->bytes_left > 0) return;
    }
    spans_[queue->running].end = now_;
    finished_[queue->running] = true;
    queue->running = kNone;
  }

  double ComputeSeconds(int32_t index) const {
    const Step& step = plan_.steps[index];
    if (IsMove(step)) return MoveSeconds(step.end - step.begin, distances_[index], machine_);
    const auto bytes = static_cast<double>(in_host_memory_[index]);
    return OpSeconds(graph_.ops[step.op], step.variant, step.algorithm, machine_) +
           bytes / machine_.link_up + bytes / machine_.link_down;
  }

  /// Starts all steps that can start. A step that takes no time ends in the next event, at the same
  /// moment.
  void StartAll() {
    for (Queue& queue : queues_) {
      while (queue.running == kNone && queue.next < queue.steps.size()) {
        const int32_t i = queue.steps[queue.next];
        const Step& step = plan_.steps[i];
        if (step.kind == StepKind::kWait) {
          if (!finished_[step.step]) break;
        } else {
          queue.running = i;
          queue.seconds_left = IsLinked(step) ? machine_.latency : ComputeSeconds(i);
          queue.bytes_left = IsLinked(step) ? static_cast<double>(CopiedBytes(graph_, step)) : 0;
          spans_[i] = {i, step.lane, now_, now_};
        }
        ++queue.next;
      }
    }
  }

  Timeline Collect() const {
    Timeline timeline;
    double compute_end = 0;
    for (const Span& span : spans_) {
      if (span.step == kNone) continue;
      timeline.spans.push_back(span);
      timeline.seconds = std::max(timeline.seconds, span.end);
      if (span.lane != Lane::kCompute) continue;
      timeline.stalled += span.begin - compute_end;
      compute_end = span.end;
    }
    const bool stuck = std::any_of(queues_.begin(), queues_.end(), [](const Queue& queue) {
      return queue.next < queue.steps.size();
    });
    if (stuck) timeline.seconds = kNever;
    return timeline;
  }

  const Graph& graph_;
  const Plan& plan_;
  const Machine& machine_;
  const std::vector<int64_t> distances_, in_host_memory_;  ///< by step
  std::array<Queue, kLanes> queues_;
  std::array<double, kLanes> rates_{};  ///< by lane, see SetRates
  std::vector<Span> spans_;             ///< by step
  std::vector<bool> finished_;
  double now_ = 0;
};

}  // namespace

Timeline Simulate(const Graph& graph, const Plan& plan, const Machine& machine) {
  return Simulation(graph, plan, machine).Run();
}

}  // namespace layrub
