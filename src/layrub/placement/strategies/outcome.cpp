#include "layrub/placement/strategies/outcome.hpp"

#include <limits>
#include <optional>
#include <utility>

#include "layrub/placement/paged_waits.hpp"
#include "layrub/placement/schedule.hpp"
#include "layrub/placement/strategies/stalls.hpp"
#include "layrub/placement/timings.hpp"
#include "layrub/placement/waits.hpp"
#include "layrub/timeline.hpp"

namespace layrub {
namespace {

struct Trace {
  Plan plan;
  Timeline timeline;
};

/// As if tensors lay in pieces; nothing if more bytes live at some moment.
std::optional<Trace> RunPaged(const Graph& graph, const Machine& machine, int64_t bytes,
                              const Lifetimes& lives, const Decision& decision) {
  Trace trace{StepsOf(graph, decision, lives), {}};
  if (!AddPagedWaits(graph, bytes, &trace.plan)) return std::nullopt;
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
  constexpr double kOfNoUse = std::numeric_limits<double>::infinity();
  decision->timings = {};
  const std::optional<Trace> paged = RunPaged(graph, machine, bytes, lives, *decision);
  if (!paged || paged->timeline.seconds > most_seconds) return kOfNoUse;
  decision->timings = {TimingsOf(graph, paged->plan, paged->timeline, lives.blocks),
                       2 / machine.memory_bandwidth, machine.latency};
  decision->enough_bytes = bytes;
  decision->may_move = true;
  Plan packed = PackSteps(graph, *decision, lives);
  if (packed.device_bytes > bytes) return kOfNoUse;
  AddWaits(graph, &packed);
  return Simulate(graph, packed, machine).seconds;
}

}  // namespace layrub
