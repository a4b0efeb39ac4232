#include "layrub/placement/search/estimate.hpp"

#include <optional>
#include <utility>

#include "layrub/placement/cost/timeline.hpp"
#include "layrub/placement/schedule/emit_steps.hpp"
#include "layrub/placement/schedule/paged_waits.hpp"
#include "layrub/placement/schedule/schedule.hpp"
#include "layrub/placement/schedule/timings.hpp"
#include "layrub/placement/schedule/waits.hpp"
#include "layrub/placement/search/stalls.hpp"

namespace layrub::placement::search {
namespace {

struct Trace {
  Plan plan;
  Timeline timeline;
};

/// Simulates `program` as if tensors lay in pages. Returns nothing if more than `bytes` live at
/// some moment.
std::optional<Trace> RunPaged(const Graph& graph, const Machine& machine, int64_t bytes,
                              const Lifetimes& lives, const Program& program) {
  Trace trace{schedule::EmitSteps(graph, program, lives).plan, {}};
  if (!schedule::AddPagedWaits(graph, bytes, &trace.plan)) return std::nullopt;
  trace.timeline = Simulate(graph, trace.plan, machine);
  return trace;
}

}  // namespace

Outcome Estimate(const Graph& graph, const Machine& machine, int64_t bytes, const Lifetimes& lives,
                 const Program& program) {
  const std::optional<Trace> paged = RunPaged(graph, machine, bytes, lives, program);
  if (!paged) return {};
  return {paged->timeline.seconds, ReturnsByTensor(graph, paged->plan, paged->timeline)};
}

Packed PackTimed(const Graph& graph, const Machine& machine, const Room& room,
                 const Lifetimes& lives, Program program, double most_seconds) {
  Packed packed{std::move(program), {}, {}, kNever};
  const std::optional<Trace> paged = RunPaged(graph, machine, room.device, lives, packed.program);
  if (!paged || paged->timeline.seconds > most_seconds) return packed;
  packed.options = {.enough_bytes = room.device, .host_bytes = room.host, .may_move = true};
  packed.options.timings = {schedule::TimingsOf(graph, paged->plan, paged->timeline, lives.blocks),
                            2 / machine.memory_bandwidth, machine.latency};
  packed.plan = schedule::PackSteps(graph, packed.program, lives, packed.options);
  if (packed.plan.device_bytes > room.device) return packed;
  schedule::AddWaits(graph, &packed.plan);
  packed.seconds = Simulate(graph, packed.plan, machine).seconds;
  return packed;
}

}  // namespace layrub::placement::search
