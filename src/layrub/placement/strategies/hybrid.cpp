#include <algorithm>

#include "layrub/placement/aliases.hpp"
#include "layrub/placement/strategies/strategies.hpp"
#include "layrub/placement/uses.hpp"

namespace layrub {
namespace {

/// Where an activation or saved tensor is away: from the operation after its last forward use to
/// the one before its first backward use. Empty if that is no time at all, or if the first backward
/// operation needs it.
std::vector<Gap> AwayBetweenPasses(const Graph& graph, TensorId t, const std::vector<Use>& uses,
                                   OpId first_backward) {
  const Tensor& tensor = graph.tensors[t];
  if (tensor.persistent || tensor.bytes == 0) return {};
  const auto later = std::find_if(uses.begin(), uses.end(),
                                  [&](const Use& use) { return use.op >= first_backward; });
  if (later == uses.begin() || later == uses.end() || !later->reads) return {};
  if (later->op == first_backward) return {};
  const Gap gap{(later - 1)->op, (later - 1)->op + 1, later->op - 1, later->op};
  if (gap.prefetch - gap.release < 2) return {};
  return {gap};
}

/// Outputs of operation `o` on inputs that nobody needs afterwards.
std::vector<AliasPair> InPlace(const Graph& graph, const Form& form, OpId o, const UseLists& uses) {
  std::vector<AliasPair> candidates;
  for (const AliasPair& pair : form.may_alias) {
    const std::vector<Use>& input = uses[pair.input];
    const bool begins_here = Materialised(graph.tensors[pair.output], uses[pair.output]) &&
                             uses[pair.output].front().op == o;
    const bool ends_here = !input.empty() && input.front().op < o && input.back().op == o &&
                           !input.back().writes && !graph.tensors[pair.input].keep;
    if (begins_here && ends_here) candidates.push_back(pair);
  }
  return BestAliases(graph, candidates);
}

}  // namespace

// Layrub's inter-layer and intra-layer reuse together: activations leave for the host tier after
// their last forward use and come back one operation before their backward, gradients lie on the
// bytes of what their operation reads last, and each backward runs in the form that needs the
// fewest bytes. Source: Layrub (PPoPP 2018 poster; ACM TACO 15(3), article 37, 2018), its hybrid
// strategy.
Result<Decision> Hybrid(const Graph& graph, const Machine&, const Budget&) {
  Decision decision = DefaultDecision(graph);
  for (OpId o = 0; o < static_cast<OpId>(graph.ops.size()); ++o) {
    const std::vector<Form>& forms = graph.ops[o].forms;
    const auto smallest =
        std::min_element(forms.begin(), forms.end(), [&](const Form& a, const Form& b) {
          return OperandBytes(graph, a) < OperandBytes(graph, b);
        });
    decision.ops[o].form = static_cast<int32_t>(smallest - forms.begin());
    decision.ops[o].scratch = SmallestScratch(graph, *smallest);
  }

  const UseLists uses = FindUses(graph, decision.ops);
  const OpId first_backward = FirstOp(graph, Pass::kBackward);
  for (TensorId t = 0; t < static_cast<TensorId>(graph.tensors.size()); ++t) {
    if (!Materialised(graph.tensors[t], uses[t])) continue;
    decision.tensors[t].gaps = AwayBetweenPasses(graph, t, uses[t], first_backward);
  }
  for (OpId o = 0; o < static_cast<OpId>(graph.ops.size()); ++o) {
    const Form& form = graph.ops[o].forms[decision.ops[o].form];
    decision.ops[o].aliases = InPlace(graph, form, o, uses);
  }
  return decision;
}

}  // namespace layrub
