#include "layrub/placement/ir/uses.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "layrub/placement/ir/operands.hpp"

namespace layrub::placement {

UseLists FindUses(const Graph& graph, const std::vector<Run>& runs) {
  std::vector<std::pair<TensorId, Use>> all;
  all.reserve(4 * runs.size());
  for (RunId r = 0; r < static_cast<RunId>(runs.size()); ++r) {
    const Variant& variant = VariantOf(graph, runs[r]);
    const size_t before = all.size();
    const auto note = [&](TensorId t, bool reads, bool writes) {
      if (runs[r].recompute && !TouchedByRecomputation(graph, variant, t)) return;
      for (size_t i = before; i < all.size(); ++i) {
        if (all[i].first == t) return;
      }
      all.push_back({t, {r, reads, writes}});
    };
    for (const TensorId t : variant.reads) {
      note(t, true,
           std::find(variant.writes.begin(), variant.writes.end(), t) != variant.writes.end());
    }
    for (const TensorId t : variant.writes) note(t, false, true);
  }
  return UseLists(graph.tensors.size(), [&all](const auto& add) {
    for (const auto& [t, use] : all) add(t, use);
  });
}

Eviction FromTheStart(const Use& first) {
  return {kNone, kNone, first.run, first.run, !first.reads};
}

Eviction ToTheEnd(const Use& last, const std::vector<Run>& runs) {
  const auto end = static_cast<RunId>(runs.size());
  return {last.run, last.run, end, end};
}

Eviction AfterUse(std::span<const Use> uses, size_t use, const std::vector<Run>& runs) {
  if (use + 1 == uses.size()) return ToTheEnd(uses[use], runs);
  const Use& next = uses[use + 1];
  const bool dropped = next.writes && !next.reads && runs[next.run].recompute;
  return {uses[use].run, uses[use].run, next.run, next.run, dropped};
}

bool HostHasValue(const Tensor& tensor, std::span<const Use> uses, const std::vector<Run>& runs,
                  const ShortList<RunId>& offloads, RunId run) {
  RunId saved = tensor.is_state() ? kNone : kNone - 1;
  for (const RunId offload : offloads) {
    if (offload <= run) saved = offload;
  }
  return saved >= kNone && std::none_of(uses.begin(), uses.end(), [&](const Use& use) {
           return use.writes && !runs[use.run].recompute && use.run > saved && use.run <= run;
         });
}

ShortList<RunId> FindOffloads(const Tensor& tensor, std::span<const Use> uses,
                              const std::vector<Run>& runs, const ShortList<Eviction>& evictions) {
  ShortList<RunId> offloads;
  for (const Eviction& eviction : evictions) {
    if (!eviction.dropped && !HostHasValue(tensor, uses, runs, offloads, eviction.after))
      offloads.push_back(eviction.after);
  }
  return offloads;
}

bool Materialised(const Tensor& tensor, std::span<const Use> uses) {
  if (tensor.is_state()) return true;
  if (uses.empty()) return false;
  return tensor.role != Role::kSaved || tensor.keep ||
         std::any_of(uses.begin(), uses.end(), [](const Use& use) { return use.reads; });
}

std::vector<std::vector<TensorId>> BlobVersions(const Graph& graph, const UseLists& uses) {
  std::vector<std::pair<int32_t, TensorId>> versions;
  for (TensorId t = 0; t < static_cast<TensorId>(graph.tensors.size()); ++t) {
    const Tensor& tensor = graph.tensors[t];
    if (tensor.blob == kNone || tensor.is_state() || !Materialised(tensor, uses[t])) continue;
    versions.push_back({tensor.blob, t});
  }
  std::sort(versions.begin(), versions.end());
  std::vector<std::vector<TensorId>> chains;
  for (auto begin = versions.begin(); begin != versions.end();) {
    const auto end =
        std::find_if(begin, versions.end(),
                     [blob = begin->first](const auto& version) { return version.first != blob; });
    if (end - begin > 1) {
      std::vector<TensorId>& chain = chains.emplace_back();
      std::transform(begin, end, std::back_inserter(chain), [](const auto& v) { return v.second; });
      std::stable_sort(chain.begin(), chain.end(), [&](TensorId a, TensorId b) {
        return uses[a].front().run < uses[b].front().run;
      });
    }
    begin = end;
  }
  return chains;
}

OpId FirstOp(const Graph& graph, Pass pass) {
  const auto first = std::partition_point(graph.ops.begin(), graph.ops.end(),
                                          [pass](const Op& op) { return op.pass < pass; });
  return static_cast<OpId>(first - graph.ops.begin());
}

Program DefaultProgram(const Graph& graph) {
  Program program;
  program.tensors.resize(graph.tensors.size());
  program.runs.reserve(graph.ops.size());
  for (OpId o = 0; o < static_cast<OpId>(graph.ops.size()); ++o) {
    program.runs.push_back(
        {o, 0, SmallestAlgorithm(graph, graph.ops[o].variants.front()), {}, false});
  }
  return program;
}

}  // namespace layrub::placement
