#ifndef LAYRUB_PLACEMENT_SCHEDULE_EMIT_STEPS_HPP_
#define LAYRUB_PLACEMENT_SCHEDULE_EMIT_STEPS_HPP_

#include <cstdint>
#include <limits>
#include <vector>

#include "layrub/placement/ir/graph.hpp"
#include "layrub/placement/ir/lifetimes.hpp"
#include "layrub/placement/ir/plan.hpp"
#include "layrub/placement/ir/program.hpp"
#include "layrub/placement/pack/pack.hpp"

namespace layrub::placement::schedule {

/// Interval::end of ranges that last to the end of the plan.
inline constexpr int32_t kToTheEnd = std::numeric_limits<int32_t>::max();

/// The steps of a plan, and the ranges that they use, which have no addresses yet. Interval times
/// are step numbers.
struct Emitted {
  /// Has no Waits. The offset of a home, and of a step that takes a range (TakesRange), is the
  /// number of that range.
  Plan plan;
  std::vector<pack::Interval> device;  ///< by block
  std::vector<int32_t> follows;  ///< by block: the block whose first bytes it continues, or kNone
  std::vector<pack::Interval>
      host;  ///< by index into Lifetimes::host: ranges of host memory and of the file
  std::vector<int32_t> run_starts;  ///< by run: its first step
};

/// The steps of `program`, whose lifetimes are `lives`. Prefetches are issued just before the run
/// that their eviction names, and ranges are given back after the run that it names.
Emitted EmitSteps(const Graph& graph, const Program& program, const Lifetimes& lives);

/// A Free that leaves a part, which is a range of its own.
inline bool LeavesPart(const Step& step) { return step.kind == StepKind::kFree && step.begin > 0; }
inline bool TakesRange(const Step& step) {
  return step.kind == StepKind::kAlloc || LeavesPart(step);
}

}  // namespace layrub::placement::schedule

#endif  // LAYRUB_PLACEMENT_SCHEDULE_EMIT_STEPS_HPP_
