#include "layrub/placement/cost/run_starts.hpp"

#include "layrub/placement/cost/timeline.hpp"

namespace layrub::placement::cost {

double CopySeconds(Lane lane, int64_t bytes, const Machine& machine) {
  return static_cast<double>(bytes) / CopyRate(lane, machine) + machine.latency;
}

std::vector<double> RunStarts(const Graph& graph, const Machine& machine,
                              const std::vector<Run>& runs) {
  std::vector<double> starts(runs.size() + 1);
  for (size_t r = 0; r < runs.size(); ++r) {
    const Run& run = runs[r];
    starts[r + 1] = starts[r] + OpSeconds(graph.ops[run.op], run.variant, run.algorithm, machine);
  }
  return starts;
}

}  // namespace layrub::placement::cost
