#include "layrub/placement/cost/fastest_algorithms.hpp"

#include <algorithm>
#include <vector>

#include "layrub/base/algorithm_cost.hpp"
#include "layrub/placement/cost/algorithm_choices.hpp"
#include "layrub/placement/cost/live_bytes.hpp"
#include "layrub/placement/cost/timeline.hpp"
#include "layrub/placement/ir/lifetimes.hpp"
#include "layrub/placement/ir/operands.hpp"

namespace layrub::placement::cost {
namespace {

/// The fastest deterministic algorithm of the run's operation whose workspace takes at most
/// `bytes`; the run's own unless another is faster.
int32_t FastestAlgorithm(const Graph& graph, const Run& run, const Machine& machine,
                         int64_t bytes) {
  const Op& op = graph.ops[run.op];
  const Variant& variant = op.variants[run.variant];
  int32_t best = run.algorithm;
  if (variant.algorithms.size() < 2) return best;
  double least = OpSeconds(op, run.variant, best, machine);
  for (int32_t i = 0; i < static_cast<int32_t>(variant.algorithms.size()); ++i) {
    if (!variant.algorithms[i].deterministic || WorkspaceBytes(graph, variant, i) > bytes) continue;
    const double seconds = OpSeconds(op, run.variant, i, machine);
    if (seconds >= least) continue;
    least = seconds;
    best = i;
  }
  return best;
}

}  // namespace

void TakeFastestAlgorithms(const Graph& graph, const Machine& machine, int64_t bytes,
                           Program* program) {
  if (AlgorithmChoices(graph) < 2) return;
  const Result<Lifetimes> lives = FindLifetimes(graph, *program);
  if (!lives.ok()) return;
  const std::vector<int64_t> loads = LiveBytes(lives.value(), program->runs.size());
  std::vector<int64_t> left(graph.ops.size(), bytes);
  for (size_t r = 0; r < loads.size(); ++r) {
    const Run& run = program->runs[r];
    const int64_t others = loads[r] - WorkspaceBytes(graph, VariantOf(graph, run), run.algorithm);
    left[run.op] = std::min(left[run.op], bytes - others);
  }
  for (Run& run : program->runs) {
    run.algorithm = FastestAlgorithm(graph, run, machine, left[run.op]);
  }
}

std::optional<Program> FasterAtSameSize(const Graph& graph, const Machine& machine,
                                        const Program& program) {
  if (AlgorithmChoices(graph) < 2) return std::nullopt;
  const Result<Lifetimes> lives = FindLifetimes(graph, program);
  if (!lives.ok()) return std::nullopt;
  Program faster = program;
  TakeFastestAlgorithms(graph, machine, PeakLiveBytes(lives.value(), program.runs.size()), &faster);
  if (faster.runs == program.runs) return std::nullopt;
  return faster;
}

int32_t DefaultAlgorithm(const Graph& graph, const Variant& variant) {
  std::vector<AlgorithmCost> costs;
  for (int32_t i = 0; i < static_cast<int32_t>(variant.algorithms.size()); ++i) {
    const Algorithm& algorithm = variant.algorithms[i];
    costs.push_back(
        {WorkspaceBytes(graph, variant, i), algorithm.seconds, algorithm.deterministic});
  }
  return DefaultAlgorithm(costs);
}

}  // namespace layrub::placement::cost
