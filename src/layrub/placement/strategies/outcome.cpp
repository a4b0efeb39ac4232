#include "layrub/placement/strategies/outcome.hpp"

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

Outcome OutcomeOf(const Graph& graph, const Trace& trace) {
  return {trace.timeline.seconds, ReturnsByTensor(graph, trace.plan, trace.timeline)};
}

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
  return paged ? OutcomeOf(graph, *paged) : Outcome();
}

Outcome PackTimed(const Graph& graph, const Machine& machine, int64_t bytes, const Lifetimes& lives,
                  double most_seconds, Decision* decision) {
  decision->timings.clear();
  const std::optional<Trace> paged = RunPaged(graph, machine, bytes, lives, *decision);
  if (!paged || paged->timeline.seconds > most_seconds) return {};
  decision->timings = TimingsOf(graph, paged->plan, paged->timeline, lives.blocks);
  decision->enough_bytes = bytes;
  decision->may_move = true;
  Trace packed{PackSteps(graph, *decision, lives), {}};
  if (packed.plan.device_bytes > bytes) return {};
  AddWaits(graph, &packed.plan);
  packed.timeline = Simulate(graph, packed.plan, machine);
  return OutcomeOf(graph, packed);
}

}  // namespace layrub
