#include "layrub/placement/schedule/timings.hpp"

#include <algorithm>
#include <utility>

namespace layrub::placement::schedule {
namespace {

class StepClock {
 public:
  StepClock(const Graph& graph, int32_t blocks)
      : graph_(graph),
        timings_(static_cast<size_t>(blocks), Timing{kNever, 0}),
        block_of_(graph.tensors.size(), kNone) {}

  void Take(const Step& step, const Span* span) {
    if (step.kind == StepKind::kAlloc && step.tier == Tier::kDevice) {
      block_of_[step.tensor] = static_cast<int32_t>(step.offset);
    } else if (step.kind == StepKind::kAlias) {
      block_of_[step.tensor] = block_of_[step.on];
    } else if (span != nullptr && step.op == kNone) {
      Touch(step.tensor, *span);
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
    timing.wanted = std::min(timing.wanted, span.begin);
    timing.ready = std::max(timing.ready, span.end);
  }

  const Graph& graph_;
  std::vector<Timing> timings_;
  std::vector<int32_t> block_of_;  ///< by tensor, at the step at hand
};

}  // namespace

std::vector<Timing> TimingsOf(const Graph& graph, const Plan& plan, const Timeline& timeline,
                              int32_t blocks) {
  StepClock clock(graph, blocks);
  auto span = timeline.spans.begin();
  for (size_t i = 0; i < plan.steps.size(); ++i) {
    const bool timed = span != timeline.spans.end() && span->step == static_cast<int32_t>(i);
    clock.Take(plan.steps[i], timed ? &*span : nullptr);
    if (timed) ++span;
  }
  return clock.Timings();
}

}  // namespace layrub::placement::schedule
