#include "layrub/placement/schedule/timings.hpp"

#include <limits>

namespace layrub::placement::schedule {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

class Clock {
 public:
  Clock(const Graph& graph, int32_t blocks)
      : graph_(graph),
        timings_(static_cast<size_t>(blocks), Timing{kNever, kNever, 0, 0}),
        block_of_(graph.tensors.size(), kNone),
        arriving_(static_cast<size_t>(blocks)) {}

  void Take(const Step& step, const Span* span) {
    if (step.kind == StepKind::kAlloc && step.tier == Tier::kDevice) {
      block_of_[step.tensor] = static_cast<int32_t>(step.offset);
    } else if (step.kind == StepKind::kAlias) {
      block_of_[step.tensor] = block_of_[step.on];
    } else if (span != nullptr && step.op == kNone) {
      Copy(step, *span);
    } else if (span != nullptr) {
      const Form& form = graph_.ops[step.op].forms[step.form];
      for (const TensorId t : form.reads) Touch(t, *span);
      for (const TensorId t : form.writes) Touch(t, *span);
      if (!form.scratch.empty()) Touch(form.scratch[step.scratch].tensor, *span);
    }
  }

  std::vector<Timing> Timings() { return std::move(timings_); }

 private:
  void Touch(TensorId t, const Span& span) {
    if (t == kNone || block_of_[t] == kNone) return;
    Timing& timing = timings_[block_of_[t]];
    arriving_[block_of_[t]] = false;
    if (timing.wanted_first == kNever) timing.wanted_first = timing.wanted_last = span.begin;
    if (timing.ready_last < span.end) timing.ready_first = timing.ready_last = span.end;
  }

  /// The pieces of a copy follow one another from the first byte that is copied to the last: of the
  /// first copy there, all count, and of the last copy away.
  void Copy(const Step& step, const Span& span) {
    const int32_t block = block_of_[step.tensor];
    Timing& timing = timings_[block];
    const double ready_first = timing.ready_first;
    const bool goes_on = step.tensor == copied_ && step.offset == copied_to_;
    copied_ = EndsCopy(graph_, step) ? kNone : step.tensor;
    copied_to_ = step.offset + step.bytes;
    const bool arrives = step.kind == StepKind::kPrefetch &&
                         (goes_on ? arriving_[block] : timing.wanted_first == kNever);
    Touch(step.tensor, span);
    arriving_[block] = arrives;
    if (goes_on && arrives) timing.wanted_last = span.begin;
    if (goes_on && step.kind == StepKind::kOffload) timing.ready_first = ready_first;
  }

  const Graph& graph_;
  std::vector<Timing> timings_;
  std::vector<int32_t> block_of_;  ///< by tensor, at the step at hand
  std::vector<bool> arriving_;     ///< by block: a first copy there may go on
  TensorId copied_ = kNone;        ///< of whose copy a piece has come, up to copied_to_
  int64_t copied_to_ = 0;
};

}  // namespace

std::vector<Timing> TimingsOf(const Graph& graph, const Plan& plan, const Timeline& timeline,
                              int32_t blocks) {
  Clock clock(graph, blocks);
  auto span = timeline.spans.begin();
  for (size_t i = 0; i < plan.steps.size(); ++i) {
    const bool timed = span != timeline.spans.end() && span->step == static_cast<int32_t>(i);
    clock.Take(plan.steps[i], timed ? &*span : nullptr);
    if (timed) ++span;
  }
  return clock.Timings();
}

}  // namespace layrub::placement::schedule
