#include "layrub/placement/search/estimate.hpp"

#include <optional>
#include <utility>

#include "layrub/placement/cost/timeline.hpp"
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

/// Simulates `decision` as if tensors lay in pages. Returns nothing if more than `bytes` live at
/// some moment.
std::optional<Trace> RunPaged(const Graph& graph, const Machine& machine, int64_t bytes,
                              const Lifetimes& lives, const Decision& decision) {
  Trace trace{schedule::StepsOf(graph, decision, lives), {}};
  if (!schedule::AddPagedWaits(graph, bytes, &trace.plan)) return std::nullopt;
  trace.timeline = Simulate(graph, trace.plan, machine);
  return trace;
}

}  // namespace

Outcome Estimate(const Graph& graph, const Machine& machine, int64_t bytes, const Lifetimes& lives,
                 const Decision& decision) {
  const std::optional<Trace> paged = RunPaged(graph, machine, bytes, lives, decision);
  if (!paged) return {};
  return {paged->timeline.seconds, ReturnsByTensor(graph, paged->plan, paged->timeline)};
}

double PackTimed(const Graph& graph, const Machine& machine, int64_t bytes, const Lifetimes& lives,
                 double most_seconds, Decision* decision) {
  decision->timings = {};
  const std::optional<Trace> paged = RunPaged(graph, machine, bytes, lives, *decision);
  if (!paged || paged->timeline.seconds > most_seconds) return kNever;
  decision->timings = {schedule::TimingsOf(graph, paged->plan, paged->timeline, lives.blocks),
                       2 / machine.memory_bandwidth, machine.latency};
  decision->enough_bytes = bytes;
  decision->may_move = true;
  Plan packed = schedule::PackSteps(graph, *decision, lives);
  if (packed.device_bytes > bytes) return kNever;
  schedule::AddWaits(graph, &packed);
  return Simulate(graph, packed, machine).seconds;
}

}  // namespace layrub::placement::search
