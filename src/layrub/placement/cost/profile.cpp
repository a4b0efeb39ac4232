#include "layrub/placement/cost/profile.hpp"

#include <algorithm>
#include <map>
#include <tuple>

#include "layrub/placement/cost/run_starts.hpp"

namespace layrub {
namespace {

constexpr double kLeastMeasured = 1e-9;  ///< seconds; no measured time is less

/// A stretch of time.
struct Stretch {
  double begin = 0, end = 0;
};

bool IsCopy(const Span& span) { return span.lane != Lane::kCompute; }

/// When copies ran (if `copies`) or operations: disjoint stretches, in order.
std::vector<Stretch> Busy(const Timeline& timeline, bool copies) {
  std::vector<Stretch> busy;
  for (const Span& span : timeline.spans) {
    if (IsCopy(span) == copies) busy.push_back({span.begin, span.end});
  }
  std::sort(busy.begin(), busy.end(),
            [](const Stretch& a, const Stretch& b) { return a.begin < b.begin; });
  std::vector<Stretch> disjoint;
  for (const Stretch& stretch : busy) {
    if (disjoint.empty() || disjoint.back().end < stretch.begin) {
      disjoint.push_back(stretch);
    } else {
      disjoint.back().end = std::max(disjoint.back().end, stretch.end);
    }
  }
  return disjoint;
}

/// Seconds of `span` that lie in `stretches`.
double Overlap(const Span& span, const std::vector<Stretch>& stretches) {
  auto at =
      std::lower_bound(stretches.begin(), stretches.end(), span.begin,
                       [](const Stretch& stretch, double time) { return stretch.end < time; });
  double sum = 0;
  for (; at != stretches.end() && at->begin < span.end; ++at) {
    sum += std::max(0.0, std::min(at->end, span.end) - std::max(at->begin, span.begin));
  }
  return sum;
}

double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const size_t half = values.size() / 2;
  return values.size() % 2 ? values[half] : (values[half - 1] + values[half]) / 2;
}

/// Seconds that a step takes alone. `distance`: see MoveDistances.
double SecondsAlone(const Graph& graph, const Step& step, int64_t distance,
                    const Machine& machine) {
  if (step.op != kNone && step.lane == Lane::kCompute)
    return OpSeconds(graph.ops[step.op], step.variant, step.algorithm, machine);
  if (IsMove(step)) return MoveSeconds(step.end - step.begin, distance, machine);
  return placement::cost::CopySeconds(step.lane, CopiedBytes(graph, step), machine);
}

/// Sums over steps of one kind in one iteration: predicted seconds if they ran alone, and measured
/// seconds without and with overlap with the other kind.
struct Sums {
  double alone = 0, by_itself = 0, beside = 0;
  void Add(double seconds_alone, double seconds, double overlap) {
    alone += seconds_alone;
    by_itself += seconds - overlap;
    beside += overlap;
  }
};

/// The relative speed of one kind of step (copies, or operations) while it overlaps with the other
/// kind. It solves (time alone) = (time without overlap) + speed * (time with overlap) for steps
/// that overlap much. The times alone are predictions; their error is estimated from steps that do
/// not overlap at all. Returns the median over the iterations, or 0 if the two kinds hardly
/// overlapped.
double SpeedBeside(const Graph& graph, const Plan& plan, const std::vector<Timeline>& iterations,
                   const Machine& machine, bool copies) {
  constexpr double kMuch = 0.25;
  constexpr double kLeast =
      0.25;  // two copies and an operation with equal shares; less has another cause
  const std::vector<int64_t> distances = MoveDistances(graph, plan);
  std::vector<double> speeds;
  for (const Timeline& timeline : iterations) {
    const std::vector<Stretch> others = Busy(timeline, !copies);
    Sums undisturbed, disturbed;
    for (const Span& span : timeline.spans) {
      if (IsCopy(span) != copies) continue;
      const double seconds = span.end - span.begin, overlap = Overlap(span, others);
      const double alone =
          SecondsAlone(graph, plan.steps[span.step], distances[span.step], machine);
      if (overlap == 0) undisturbed.Add(alone, seconds, 0);
      if (overlap > kMuch * seconds) disturbed.Add(alone, seconds, overlap);
    }
    if (disturbed.beside == 0) continue;
    const double drift = undisturbed.alone > 0 ? undisturbed.by_itself / undisturbed.alone : 1;
    speeds.push_back((disturbed.alone * drift - disturbed.by_itself) / disturbed.beside);
  }
  return speeds.empty() ? 0 : std::clamp(Median(speeds), kLeast, 1.0);
}

}  // namespace

void LearnOperations(const Graph& graph, const Plan& plan, const std::vector<Timeline>& iterations,
                     Machine* machine) {
  std::map<std::tuple<OpId, int32_t, int32_t>, std::vector<double>> seconds;
  for (const Timeline& timeline : iterations) {
    const std::vector<Stretch> copies = Busy(timeline, true);
    for (const Span& span : timeline.spans) {
      if (IsCopy(span)) continue;
      const Step& step = plan.steps[span.step];
      if (step.op == kNone) continue;
      const double lost = Overlap(span, copies) * (1 - machine->compute_while_copying);
      seconds[{step.op, step.variant, step.algorithm}].push_back(span.end - span.begin - lost);
    }
  }
  for (const auto& [key, samples] : seconds) {
    const auto& [o, f, algorithm] = key;
    const Variant& variant = graph.ops[o].variants[f];
    machine->measured[graph.ops[o].name][MeasuredName(variant, algorithm)] = {
        variant.bytes_moved, std::max(Median(samples), kLeastMeasured)};
  }
}

void LearnInterference(const Graph& graph, const Plan& plan,
                       const std::vector<Timeline>& iterations, Machine* machine) {
  const double compute = SpeedBeside(graph, plan, iterations, *machine, false);
  const double copy = SpeedBeside(graph, plan, iterations, *machine, true);
  if (compute > 0) machine->compute_while_copying = compute;
  if (copy > 0) machine->copy_while_computing = copy;
}

int MeasuredOperations(const Graph& graph, const Machine& machine) {
  return static_cast<int>(std::count_if(graph.ops.begin(), graph.ops.end(), [&](const Op& op) {
    if (op.kind == OpKind::kFeed) return true;  // its time is that of a copy
    const auto variants = machine.measured.find(op.name);
    if (variants == machine.measured.end()) return false;
    return std::any_of(op.variants.begin(), op.variants.end(), [&](const Variant& variant) {
      const auto algorithms = static_cast<int32_t>(std::max<size_t>(variant.algorithms.size(), 1));
      for (int32_t i = 0; i < algorithms; ++i) {
        const auto found = variants->second.find(MeasuredName(variant, i));
        if (found != variants->second.end() && found->second.bytes_moved == variant.bytes_moved)
          return true;
      }
      return false;
    });
  }));
}

}  // namespace layrub
