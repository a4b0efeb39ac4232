#include "layrub/placement/search/frugal_forms.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "layrub/placement/ir/operands.hpp"
#include "layrub/placement/policies/recompute.hpp"

namespace layrub::placement::search {
namespace {

/// What is known of tensors while the operations choose their forms, in order.
struct Makers {
  std::vector<OpId> of;      ///< by tensor, the forward operation that makes it; kNone: none
  std::vector<bool> needed;  ///< by tensor, whether backward needs it anyway
};

Makers FindMakers(const Graph& graph) {
  Makers makers{std::vector<OpId>(graph.tensors.size(), kNone),
                std::vector<bool>(graph.tensors.size())};
  for (OpId o = 0; o < static_cast<OpId>(graph.ops.size()); ++o) {
    const Op& op = graph.ops[o];
    if (op.pass == Pass::kForward) {
      for (const TensorId t : op.forms.front().writes) {
        if (!graph.tensors[t].is_state()) makers.of[t] = o;
      }
    } else if (op.forms.size() == 1) {
      for (const TensorId t : op.forms.front().reads) makers.needed[t] = true;
    }
  }
  return makers;
}

int64_t OwnBytes(const Graph& graph, const Form& form) {
  return OperandBytes(graph, form) + ScratchBytes(graph, form, SmallestScratch(graph, form));
}

/// Bytes of the form, or of a forward that saves something for it, whichever are more.
int64_t WorkingSet(const Graph& graph, const Makers& makers, const Form& form) {
  int64_t most = OwnBytes(graph, form);
  for (const TensorId t : form.reads) {
    if (graph.tensors[t].role != Role::kSaved || makers.of[t] == kNone) continue;
    most = std::max(most, OwnBytes(graph, graph.ops[makers.of[t]].forms.front()));
  }
  return most;
}

}  // namespace

Start InFrugalForms(const Graph& graph, int64_t most) {
  Decision decision = DefaultDecision(graph);
  Makers makers = FindMakers(graph);
  for (OpId o = 0; o < static_cast<OpId>(graph.ops.size()); ++o) {
    const std::vector<Form>& forms = graph.ops[o].forms;
    if (forms.size() == 1) continue;
    const auto cost = [&](const Form& form) {
      int64_t more = 0;
      for (const TensorId t : form.reads) {
        if (makers.of[t] != kNone && !makers.needed[t]) more += Aligned(graph.tensors[t].bytes);
      }
      const int64_t all = WorkingSet(graph, makers, form);
      return std::pair(all <= most ? int64_t{0} : all, std::pair(more, all));
    };
    const auto best =
        std::min_element(forms.begin(), forms.end(),
                         [&](const Form& a, const Form& b) { return cost(a) < cost(b); });
    decision.runs[o].form = static_cast<int32_t>(best - forms.begin());
    decision.runs[o].scratch = SmallestScratch(graph, *best);
    for (const TensorId t : best->reads) makers.needed[t] = true;
  }
  UseLists uses = FindUses(graph, decision.runs);
  std::vector<OpId> producers = policies::ProducersOfUnkept(graph, decision.runs);
  return {std::move(decision), std::move(uses), std::move(producers)};
}

}  // namespace layrub::placement::search
