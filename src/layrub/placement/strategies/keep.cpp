#include <algorithm>

#include "layrub/placement/aliases.hpp"
#include "layrub/placement/strategies/strategies.hpp"
#include "layrub/placement/uses.hpp"

namespace layrub {
namespace {

/// For each tensor, the operation that writes the next version of its blob; graph.ops.size() if
/// there is none.
std::vector<OpId> OverwrittenBy(const Graph& graph, const UseLists& uses) {
  std::vector<OpId> overwritten(graph.tensors.size(), static_cast<OpId>(graph.ops.size()));
  for (const std::vector<TensorId>& chain : BlobVersions(graph, uses)) {
    for (size_t i = 1; i < chain.size(); ++i) {
      overwritten[chain[i - 1]] = uses[chain[i]].front().op;
    }
  }
  return overwritten;
}

}  // namespace

// As in Caffe: each named blob owns one range for its data and one for its diff for the whole
// iteration, whatever the number of its versions; what a forward saves for its backward is private;
// scratch is shared. A version that the net cannot do without (Caffe would compute wrong gradients
// there) gets a range of its own.
Result<Decision> Keep(const Graph& graph, const Machine&, const Budget&) {
  Decision decision = DefaultDecision(graph);
  const std::vector<OpId> overwritten = OverwrittenBy(graph, FindUses(graph, decision.ops));
  for (OpId o = 0; o < static_cast<OpId>(graph.ops.size()); ++o) {
    const std::vector<Form>& forms = graph.ops[o].forms;
    const auto first = std::find_if(forms.begin(), forms.end(), [&](const Form& form) {
      return std::all_of(form.reads.begin(), form.reads.end(),
                         [&](TensorId t) { return overwritten[t] >= o; });
    });
    if (first == forms.end()) continue;
    decision.ops[o].form = static_cast<int32_t>(first - forms.begin());
    decision.ops[o].scratch = SmallestScratch(graph, *first);
  }

  const UseLists uses = FindUses(graph, decision.ops);
  for (TensorDecision& tensor : decision.tensors) tensor.whole = true;
  for (const std::vector<TensorId>& chain : BlobVersions(graph, uses)) {
    for (size_t i = 1; i < chain.size(); ++i) {
      const OpId o = uses[chain[i]].front().op;
      const AliasPair pair{chain[i], chain[i - 1]};
      const std::vector<AliasPair>& allowed = graph.ops[o].forms[decision.ops[o].form].may_alias;
      if (std::find(allowed.begin(), allowed.end(), pair) == allowed.end()) continue;
      const Tensor& old = graph.tensors[pair.input];
      const bool fits = Aligned(graph.tensors[pair.output].bytes) <= Aligned(old.bytes);
      if (fits && !old.keep && uses[pair.input].back().op <= o) {
        decision.ops[o].aliases.push_back(pair);
      }
    }
  }
  return decision;
}

}  // namespace layrub
