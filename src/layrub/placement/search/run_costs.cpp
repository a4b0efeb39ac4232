#include "layrub/placement/search/run_costs.hpp"

#include <algorithm>

#include "layrub/placement/cost/run_starts.hpp"
#include "layrub/placement/ir/operands.hpp"
#include "layrub/placement/ir/uses.hpp"
#include "layrub/placement/policies/recompute.hpp"

namespace layrub::placement::search {

RunCosts::RunCosts(const Graph& graph, const Machine& machine, const Start& start)
    : graph_(graph),
      start_(start),
      placed_(graph.tensors.size()),
      starts_(cost::RunStarts(graph, machine, start.program.runs)) {
  for (size_t t = 0; t < placed_.size(); ++t) {
    placed_[t] = !StaysHome(graph.tensors[t], start.program.tensors[t].home) &&
                 Materialised(graph.tensors[t], start.uses[t]);
  }
  FindChains();
}

int64_t RunCosts::Workspace(OpId o) const {
  return WorkspaceBytes(graph_, VariantOf(o), start_.program.runs[o].algorithm);
}

bool RunCosts::Touches(const Variant& variant, TensorId t, bool again) const {
  return placed_[t] && (!again || TouchedByRecomputation(graph_, variant, t));
}

void RunCosts::FindChains() {
  std::vector<bool> needed(placed_.size());
  for (size_t t = 0; t < needed.size(); ++t) {
    needed[t] = std::any_of(start_.uses[t].begin(), start_.uses[t].end(), [&](const Use& use) {
      return use.reads && graph_.ops[use.run].pass != Pass::kForward;
    });
  }
  for (size_t o = 0; o < graph_.ops.size(); ++o) chains_.push_back(Seconds(static_cast<OpId>(o)));
  for (OpId o = 0; o < FirstOp(graph_, Pass::kBackward); ++o) {
    for (const TensorId t : VariantOf(o).reads) {
      const OpId maker = start_.producers[t];
      if (!needed[t] && maker != kNone && maker < o) chains_[o] += chains_[maker];
    }
  }
}

}  // namespace layrub::placement::search
