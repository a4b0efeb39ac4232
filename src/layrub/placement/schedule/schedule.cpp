#include "layrub/placement/schedule/schedule.hpp"

#include <algorithm>
#include <string>

#include "layrub/placement/ir/spill.hpp"
#include "layrub/placement/schedule/emit_steps.hpp"
#include "layrub/placement/schedule/place_ranges.hpp"
#include "layrub/placement/schedule/waits.hpp"

namespace layrub::placement::schedule {

Plan StepsOf(const Graph& graph, const Decision& decision, const Lifetimes& lives) {
  return EmitSteps(graph, decision, lives).plan;
}

Plan PackSteps(const Graph& graph, const Decision& decision, const Lifetimes& lives,
               int64_t padding) {
  const auto pack = [&](const Lifetimes& spilled) {
    return PlaceRanges(graph, decision, spilled, EmitSteps(graph, decision, spilled), padding);
  };
  Plan plan = pack(lives);
  if (plan.host_bytes <= decision.host_bytes) return plan;
  // Values that fit at each moment may still not be packed into as many bytes.
  Lifetimes spilled = lives;
  for (int64_t bytes = decision.host_bytes; plan.host_bytes > decision.host_bytes && bytes > 0;) {
    bytes = std::max<int64_t>(0, bytes - (plan.host_bytes - decision.host_bytes));
    SpillIntervals(graph, decision, bytes, &spilled);
    plan = pack(spilled);
  }
  return plan;
}

Result<Plan> Schedule(const Graph& graph, const Decision& decision, int64_t padding) {
  const Result<Lifetimes> lives = FindLifetimes(graph, decision);
  if (!lives.ok()) return lives.status();
  const auto blocks = static_cast<size_t>(lives.value().blocks);
  const size_t timed = decision.timings.ranges.size();
  if (timed != 0 && timed != blocks)
    return Status::Invalid("the decision has the timings of " + std::to_string(timed) +
                           " ranges, not of its " + std::to_string(blocks));
  Plan plan = PackSteps(graph, decision, lives.value(), padding);
  AddWaits(graph, &plan);
  return plan;
}

}  // namespace layrub::placement::schedule
