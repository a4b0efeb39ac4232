#include "layrub/placement/uses.hpp"

#include <algorithm>
#include <map>

#include "layrub/placement/aliases.hpp"

namespace layrub {

UseLists FindUses(const Graph& graph, const std::vector<OpDecision>& ops) {
  UseLists uses(graph.tensors.size());
  for (OpId o = 0; o < static_cast<OpId>(graph.ops.size()); ++o) {
    const auto use_of = [&](TensorId t) -> Use& {
      if (uses[t].empty() || uses[t].back().op != o) uses[t].push_back({o, false, false});
      return uses[t].back();
    };
    const Form& form = graph.ops[o].forms[ops[o].form];
    for (const TensorId t : form.reads) use_of(t).reads = true;
    for (const TensorId t : form.writes) use_of(t).writes = true;
  }
  return uses;
}

bool Materialised(const Tensor& tensor, const std::vector<Use>& uses) {
  if (tensor.persistent) return true;
  if (uses.empty()) return false;
  return tensor.role != Role::kSaved || tensor.keep ||
         std::any_of(uses.begin(), uses.end(), [](const Use& use) { return use.reads; });
}

std::vector<std::vector<TensorId>> BlobVersions(const Graph& graph, const UseLists& uses) {
  std::map<int32_t, std::vector<TensorId>> versions;
  for (TensorId t = 0; t < static_cast<TensorId>(graph.tensors.size()); ++t) {
    const Tensor& tensor = graph.tensors[t];
    if (tensor.blob == kNone || tensor.persistent || !Materialised(tensor, uses[t])) continue;
    versions[tensor.blob].push_back(t);
  }
  std::vector<std::vector<TensorId>> chains;
  for (auto& [blob, chain] : versions) {
    if (chain.size() < 2) continue;
    std::stable_sort(chain.begin(), chain.end(), [&](TensorId a, TensorId b) {
      return uses[a].front().op < uses[b].front().op;
    });
    chains.push_back(std::move(chain));
  }
  return chains;
}

OpId FirstOp(const Graph& graph, Pass pass) {
  const auto first = std::find_if(graph.ops.begin(), graph.ops.end(),
                                  [pass](const Op& op) { return op.pass >= pass; });
  return static_cast<OpId>(first - graph.ops.begin());
}

Decision DefaultDecision(const Graph& graph) {
  Decision decision;
  decision.tensors.resize(graph.tensors.size());
  for (const Op& op : graph.ops) {
    decision.ops.push_back({0, SmallestScratch(graph, op.forms.front()), {}});
  }
  return decision;
}

}  // namespace layrub
