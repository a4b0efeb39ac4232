#include "layrub/placement/cost/floor.hpp"

#include <algorithm>
#include <limits>
#include <vector>

#include "layrub/placement/ir/operands.hpp"

namespace layrub::placement::cost {
namespace {

/// Saved tensors that some choice of forms does without: no operation reads them in all of its
/// forms.
std::vector<bool> OptionalTensors(const Graph& graph) {
  std::vector<bool> optional(graph.tensors.size());
  for (size_t t = 0; t < graph.tensors.size(); ++t) {
    optional[t] = graph.tensors[t].role == Role::kSaved && !graph.tensors[t].keep;
  }
  for (const Op& op : graph.ops) {
    for (const TensorId t : op.forms.front().reads) {
      const bool always = std::all_of(op.forms.begin(), op.forms.end(), [t](const Form& form) {
        return std::find(form.reads.begin(), form.reads.end(), t) != form.reads.end();
      });
      if (always) optional[t] = false;
    }
  }
  return optional;
}

}  // namespace

std::vector<int64_t> WorkingSets(const Graph& graph) {
  const std::vector<bool> optional = OptionalTensors(graph);
  const std::vector<bool> none;
  std::vector<int64_t> least;
  for (const Op& op : graph.ops) {
    int64_t bytes = std::numeric_limits<int64_t>::max();
    for (const Form& form : op.forms) {
      bytes =
          std::min(bytes, OperandBytes(graph, form, op.pass == Pass::kForward ? optional : none) +
                              ScratchBytes(graph, form, SmallestScratch(graph, form)));
    }
    least.push_back(bytes);
  }
  return least;
}

}  // namespace layrub::placement::cost

namespace layrub {

using placement::cost::WorkingSets;

int64_t FloorBytes(const Graph& graph) {
  const std::vector<int64_t> sets = WorkingSets(graph);
  return StateBytes(graph) + (sets.empty() ? 0 : *std::max_element(sets.begin(), sets.end()));
}

OpId FloorOp(const Graph& graph) {
  const std::vector<int64_t> sets = WorkingSets(graph);
  if (sets.empty()) return kNone;
  return static_cast<OpId>(std::max_element(sets.begin(), sets.end()) - sets.begin());
}

}  // namespace layrub
