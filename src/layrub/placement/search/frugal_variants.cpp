#include "layrub/placement/search/frugal_variants.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "layrub/placement/ir/operands.hpp"
#include "layrub/placement/policies/recompute.hpp"

namespace layrub::placement::search {
namespace {

/// Facts about tensors while the operations choose their variants, in order.
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
      for (const TensorId t : op.variants.front().writes) {
        if (!graph.tensors[t].is_state()) makers.of[t] = o;
      }
    } else if (op.variants.size() == 1) {
      for (const TensorId t : op.variants.front().reads) makers.needed[t] = true;
    }
  }
  return makers;
}

int64_t OwnBytes(const Graph& graph, const Variant& variant) {
  return OperandBytes(graph, variant) +
         WorkspaceBytes(graph, variant, SmallestAlgorithm(graph, variant));
}

/// Bytes of the variant or, if that is more, of a forward that saves something for it.
int64_t WorkingSet(const Graph& graph, const Makers& makers, const Variant& variant) {
  int64_t most = OwnBytes(graph, variant);
  for (const TensorId t : variant.reads) {
    if (graph.tensors[t].role != Role::kSaved || makers.of[t] == kNone) continue;
    most = std::max(most, OwnBytes(graph, graph.ops[makers.of[t]].variants.front()));
  }
  return most;
}

}  // namespace

Start InFrugalVariants(const Graph& graph, int64_t most) {
  Program program = DefaultProgram(graph);
  Makers makers = FindMakers(graph);
  for (OpId o = 0; o < static_cast<OpId>(graph.ops.size()); ++o) {
    const std::vector<Variant>& variants = graph.ops[o].variants;
    if (variants.size() == 1) continue;
    const auto cost = [&](const Variant& variant) {
      int64_t more = 0;
      for (const TensorId t : variant.reads) {
        if (makers.of[t] != kNone && !makers.needed[t]) more += Aligned(graph.tensors[t].bytes);
      }
      const int64_t all = WorkingSet(graph, makers, variant);
      return std::pair(all <= most ? int64_t{0} : all, std::pair(more, all));
    };
    const auto best =
        std::min_element(variants.begin(), variants.end(),
                         [&](const Variant& a, const Variant& b) { return cost(a) < cost(b); });
    program.runs[o].variant = static_cast<int32_t>(best - variants.begin());
    program.runs[o].algorithm = SmallestAlgorithm(graph, *best);
    for (const TensorId t : best->reads) makers.needed[t] = true;
  }
  UseLists uses = FindUses(graph, program.runs);
  std::vector<OpId> producers = policies::ProducersOfUnkept(graph, program.runs);
  return {std::move(program), std::move(uses), std::move(producers)};
}

}  // namespace layrub::placement::search
