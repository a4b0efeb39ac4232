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

/// Whether `worse` differs from `better` only in that it reads a saved copy in place of the
/// original, as VariantsToConsider says.
bool ReadsCopyInstead(const Graph& graph, const std::vector<OpId>& maker, const Variant& better,
                      const Variant& worse) {
  const std::vector<TensorId> more = MissingIn(worse.reads, better.reads);
  const std::vector<TensorId> less = MissingIn(better.reads, worse.reads);
  if (more.size() != 1 || less.size() != 1) return false;
  const Tensor& copy = graph.tensors[more[0]];
  const OpId o = maker[more[0]];
  if (copy.role != Role::kSaved || o == kNone) return false;
  if (graph.tensors[less[0]].role == Role::kSaved || maker[less[0]] == kNone) return false;
  const Variant& forward = graph.ops[o].variants.front();
  const auto touches = [&](const std::vector<TensorId>& operands) {
    return std::find(operands.begin(), operands.end(), less[0]) != operands.end();
  };
  const bool saved = touches(forward.reads) || touches(forward.writes);
  return saved && copy.bytes >= graph.tensors[less[0]].bytes;
}

}  // namespace

std::vector<OpId> ForwardMakers(const Graph& graph) {
  std::vector<OpId> maker(graph.tensors.size(), kNone);
  for (OpId o = 0; o < static_cast<OpId>(graph.ops.size()); ++o) {
    if (graph.ops[o].pass != Pass::kForward) break;
    for (const TensorId t : graph.ops[o].variants.front().writes) {
      if (!graph.tensors[t].is_state() && maker[t] == kNone) maker[t] = o;
    }
  }
  return maker;
}

std::vector<const Variant*> VariantsToConsider(const Graph& graph, const std::vector<OpId>& maker,
                                               const Op& op) {
  std::vector<const Variant*> variants;
  for (const Variant& variant : op.variants) {
    const bool worse =
        std::any_of(op.variants.begin(), op.variants.end(), [&](const Variant& other) {
          return &other != &variant && ReadsCopyInstead(graph, maker, other, variant);
        });
    if (!worse) variants.push_back(&variant);
  }
  return variants;
}

}  // namespace layrub::bounds
