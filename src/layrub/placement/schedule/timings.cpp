#include "layrub/placement/schedule/timings.hpp"

#include <algorithm>

#include "layrub/placement/ir/plan_walk.hpp"

namespace layrub::placement::schedule {

std::vector<pack::Timing> TimingsOf(const Graph& graph, const Plan& plan, const Timeline& timeline,
                                    int32_t blocks) {
  std::vector<pack::Timing> timings(static_cast<size_t>(blocks), pack::Timing{kNever, 0});
  PlanWalk walk(graph, plan);
  for (const Span& span : timeline.spans) {
    while (walk.number() < span.step) walk.Next();
    for (const Access& access : walk.accesses()) {
      const LiveRange& range = walk.ranges()[access.range];
      if (range.tier != Tier::kDevice) continue;
      pack::Timing& timing = timings[range.offset];
      timing.wanted = std::min(timing.wanted, span.begin);
      timing.ready = std::max(timing.ready, span.end);
    }
  }
  return timings;
}

}  // namespace layrub::placement::schedule
