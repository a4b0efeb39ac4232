#include "layrub/placement/cost/scratch.hpp"

#include <algorithm>
#include <vector>

#include "layrub/base/workspace.hpp"
#include "layrub/placement/cost/live_bytes.hpp"
#include "layrub/placement/cost/timeline.hpp"
#include "layrub/placement/cost/workspaces.hpp"
#include "layrub/placement/ir/lifetimes.hpp"
#include "layrub/placement/ir/operands.hpp"

namespace layrub::placement::cost {
namespace {

/// The deterministic workspace of the run's operation that is faster than all others within
/// `bytes`; the run's own if that is as fast.
int32_t FastestScratch(const Graph& graph, const Run& run, const Machine& machine, int64_t bytes) {
  const Op& op = graph.ops[run.op];
  const Form& form = op.forms[run.form];
  int32_t best = run.scratch;
  if (form.scratch.size() < 2) return best;
  double least = OpSeconds(op, run.form, best, machine);
  for (int32_t i = 0; i < static_cast<int32_t>(form.scratch.size()); ++i) {
    if (!form.scratch[i].deterministic || ScratchBytes(graph, form, i) > bytes) continue;
    const double seconds = OpSeconds(op, run.form, i, machine);
    if (seconds >= least) continue;
    least = seconds;
    best = i;
  }
  return best;
}

}  // namespace

void TakeFastestScratch(const Graph& graph, const Machine& machine, int64_t bytes,
                        Decision* decision) {
  if (WorkspaceChoices(graph) < 2) return;
  const Result<Lifetimes> lives = FindLifetimes(graph, *decision);
  if (!lives.ok()) return;
  const std::vector<int64_t> loads = LiveBytes(lives.value(), decision->runs.size());
  std::vector<int64_t> left(graph.ops.size(), bytes);
  for (size_t r = 0; r < loads.size(); ++r) {
    const Run& run = decision->runs[r];
    const int64_t others = loads[r] - ScratchBytes(graph, FormOf(graph, run), run.scratch);
    left[run.op] = std::min(left[run.op], bytes - others);
  }
  for (Run& run : decision->runs) {
    run.scratch = FastestScratch(graph, run, machine, left[run.op]);
  }
}

std::optional<Decision> FreeWorkspaces(const Graph& graph, const Machine& machine,
                                       const Decision& decision) {
  if (WorkspaceChoices(graph) < 2) return std::nullopt;
  const Result<Lifetimes> lives = FindLifetimes(graph, decision);
  if (!lives.ok()) return std::nullopt;
  Decision faster = decision;
  TakeFastestScratch(graph, machine, PeakLiveBytes(lives.value(), decision.runs.size()), &faster);
  if (faster.runs == decision.runs) return std::nullopt;
  faster.timings = {};
  return faster;
}

int32_t GrantedScratch(const Graph& graph, const Form& form) {
  std::vector<WorkspaceCost> costs;
  for (int32_t i = 0; i < static_cast<int32_t>(form.scratch.size()); ++i) {
    const Scratch& scratch = form.scratch[i];
    costs.push_back({ScratchBytes(graph, form, i), scratch.seconds, scratch.deterministic});
  }
  return GrantedWorkspace(costs);
}

}  // namespace layrub::placement::cost
