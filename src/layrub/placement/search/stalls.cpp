#include "layrub/placement/search/stalls.hpp"

#include <algorithm>
#include <array>

#include "layrub/placement/ir/short_list.hpp"

namespace layrub::placement::search {
namespace {

/// The steps that must end before a step begins: the step before it on its lane, and those that its
/// lane waits for in between.
struct Causes {
  int32_t before = kNone;
  ShortList<int32_t> waits;
};

std::vector<Causes> FindCauses(const Plan& plan, const std::vector<const Span*>& spans) {
  std::vector<Causes> causes(plan.steps.size());
  std::array<Causes, kLanes> pending;
  for (int32_t i = 0; i < static_cast<int32_t>(plan.steps.size()); ++i) {
    const Step& step = plan.steps[i];
    Causes& lane = pending[Index(step.lane)];
    if (step.kind == StepKind::kWait) lane.waits.push_back(step.step);
    if (spans[i] == nullptr) continue;
    causes[i] = std::move(lane);
    lane = {i, {}};
  }
  return causes;
}

}  // namespace

std::vector<double> StallsByTensor(const Graph& graph, const Plan& plan, const Timeline& timeline) {
  std::vector<const Span*> spans(plan.steps.size());
  for (const Span& span : timeline.spans) spans[span.step] = &span;
  const std::vector<Causes> causes = FindCauses(plan, spans);
  const auto end_of = [&](int32_t step) { return step == kNone ? 0.0 : spans[step]->end; };
  const auto latest = [&](int32_t step) {
    int32_t last = causes[step].before;
    for (const int32_t wait : causes[step].waits) {
      if (end_of(wait) > end_of(last)) last = wait;
    }
    return last;
  };
  std::vector<double> stalls(graph.tensors.size());
  for (const Span& span : timeline.spans) {
    if (span.lane != Lane::kCompute) continue;
    const double from = end_of(causes[span.step].before);
    double to = span.begin;
    for (int32_t step = latest(span.step); step != kNone && to > from; step = latest(step)) {
      if (spans[step]->lane == Lane::kCompute) break;
      const double begin = std::max(from, spans[step]->begin);
      stalls[CopiedTensor(graph, plan.steps[step])] += std::max(0.0, to - begin);
      to = std::min(to, begin);
    }
  }
  return stalls;
}

std::vector<double> ReturnsByTensor(const Graph& graph, const Plan& plan,
                                    const Timeline& timeline) {
  std::vector<double> returns = StallsByTensor(graph, plan, timeline);
  for (const Span& span : timeline.spans) {
    const Step& step = plan.steps[span.step];
    if (!step.recompute) continue;
    for (const TensorId t : graph.ops[step.op].variants[step.variant].writes) {
      returns[t] += span.end - span.begin;
    }
  }
  return returns;
}

}  // namespace layrub::placement::search
