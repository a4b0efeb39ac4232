#include "layrub/bounds/needs.hpp"

#include <algorithm>

namespace layrub::bounds {
namespace {

std::vector<TensorId> MissingIn(const std::vector<TensorId>& some,
                                const std::vector<TensorId>& other) {
  std::vector<TensorId> missing;
  for (const TensorId t : some) {
    if (std::find(other.begin(), other.end(), t) == other.end()) missing.push_back(t);
  }
  return missing;
}

/// What `worse` reads in place of what `better` reads, if that is all that they differ in and a
/// copy as told in Needs.
SavedCopy CopyInstead(const Graph& graph, const std::vector<OpId>& maker, const Form& better,
                      const Form& worse) {
  const std::vector<TensorId> more = MissingIn(worse.reads, better.reads);
  const std::vector<TensorId> less = MissingIn(better.reads, worse.reads);
  if (more.size() != 1 || less.size() != 1) return {};
  const Tensor& copy = graph.tensors[more[0]];
  const OpId o = maker[more[0]];
  if (copy.role != Role::kSaved || o == kNone) return {};
  if (graph.tensors[less[0]].role == Role::kSaved || maker[less[0]] == kNone) return {};
  const Form& forward = graph.ops[o].forms.front();
  const auto touches = [&](const std::vector<TensorId>& operands) {
    return std::find(operands.begin(), operands.end(), less[0]) != operands.end();
  };
  const bool saved = touches(forward.reads) || touches(forward.writes);
  return saved && copy.bytes >= graph.tensors[less[0]].bytes ? SavedCopy{more[0], less[0]}
                                                             : SavedCopy{};
}

}  // namespace

std::vector<OpId> ForwardMakers(const Graph& graph) {
  std::vector<OpId> maker(graph.tensors.size(), kNone);
  for (OpId o = 0; o < static_cast<OpId>(graph.ops.size()); ++o) {
    if (graph.ops[o].pass != Pass::kForward) break;
    for (const TensorId t : graph.ops[o].forms.front().writes) {
      if (!graph.tensors[t].persistent && maker[t] == kNone) maker[t] = o;
    }
  }
  return maker;
}

Needs FindNeeds(const Graph& graph, const std::vector<OpId>& maker, const Op& op) {
  Needs needs;
  for (const Form& form : op.forms) {
    SavedCopy instead;
    for (const Form& other : op.forms) {
      if (instead.copy == kNone && &other != &form)
        instead = CopyInstead(graph, maker, other, form);
    }
    if (instead.copy == kNone) {
      needs.forms.push_back(&form);
    } else {
      needs.copies.push_back(instead);
    }
  }
  return needs;
}

}  // namespace layrub::bounds
