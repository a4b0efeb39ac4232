#include "layrub/placement/schedule/schedule.hpp"

#include <algorithm>
#include <string>

#include "layrub/placement/ir/spill.hpp"
#include "layrub/placement/schedule/emit_steps.hpp"
#include "layrub/placement/schedule/place_ranges.hpp"
#include "layrub/placement/schedule/waits.hpp"

namespace layrub::placement::schedule {

Plan PackSteps(const Graph& graph, const Program& program, const Lifetimes& lives,
               const pack::Options& options) {
  const auto pack = [&](const Lifetimes& spilled) {
    return PlaceRanges(graph, program, spilled, EmitSteps(graph, program, spilled), options);
  };
  Plan plan = pack(lives);
  if (plan.host_bytes <= options.host_bytes) return plan;
  // Values that fit at each moment may still not be packed into as many bytes.
  Lifetimes spilled = lives;
  for (int64_t bytes = options.host_bytes; plan.host_bytes > options.host_bytes && bytes > 0;) {
    bytes = std::max<int64_t>(0, bytes - (plan.host_bytes - options.host_bytes));
    SpillIntervals(graph, program, bytes, &spilled);
    plan = pack(spilled);
  }
  return plan;
}

Result<Plan> Schedule(const Graph& graph, const Program& program, const pack::Options& options) {
  const Result<Lifetimes> lives = FindLifetimes(graph, program, options.host_bytes);
  if (!lives.ok()) return lives.status();
  const auto blocks = static_cast<size_t>(lives.value().blocks);
  const size_t timed = options.timings.ranges.size();
  if (timed != 0 && timed != blocks)
    return Status::Invalid("the options have the timings of " + std::to_string(timed) +
                           " ranges, not of its " + std::to_string(blocks));
  Plan plan = PackSteps(graph, program, lives.value(), options);
  AddWaits(graph, &plan);
  return plan;
}

}  // namespace layrub::placement::schedule
