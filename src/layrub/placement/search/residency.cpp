#include "layrub/placement/search/residency.hpp"

#include <algorithm>
#include <span>
#include <utility>

#include "layrub/placement/policies/common.hpp"
#include "layrub/placement/search/time_copies.hpp"

namespace layrub::placement::search {
namespace {

bool Touches(const Graph& graph, const Run& run, TensorId t) {
  return !run.recompute || TouchedByRecomputation(graph, VariantOf(graph, run), t);
}

/// Adds to `gone` the recomputations whose outputs nobody reads before they are written again.
void FindUnneeded(const Graph& graph, const std::vector<Run>& runs, std::vector<bool>* gone) {
  std::vector<bool> needed;
  for (const Tensor& tensor : graph.tensors) needed.push_back(tensor.keep || tensor.is_state());
  for (size_t r = runs.size(); r-- > 0;) {
    if ((*gone)[r]) continue;
    const Run& run = runs[r];
    const Variant& variant = VariantOf(graph, run);
    (*gone)[r] = run.recompute &&
                 std::none_of(variant.writes.begin(), variant.writes.end(),
                              [&](TensorId t) { return Touches(graph, run, t) && needed[t]; });
    if ((*gone)[r]) continue;
    for (const TensorId t : variant.writes) {
      if (Touches(graph, run, t) && !graph.tensors[t].is_state()) needed[t] = false;
    }
    for (const TensorId t : variant.reads) {
      if (Touches(graph, run, t)) needed[t] = true;
    }
  }
}

/// Calls add(away) for each eviction between the uses that remain. It is kNotEvicted only if all
/// those that it joins are.
template <typename Add>
void Join(std::span<const EvictionKind> away, std::span<const Use> uses,
          const std::vector<bool>& gone, const Add& add) {
  for (size_t i = 0; i < away.size();) {
    const size_t left = i;
    EvictionKind joined = away[i];
    for (++i; i < away.size() && gone[uses[i].run]; ++i)
      joined = joined == kNotEvicted ? away[i] : joined;
    if (!gone[uses[left].run]) add(joined);
  }
}

bool LeavesInPart(const Residency& residency, TensorId t, RunId after) {
  const std::span<const Use> uses = residency.uses[t];
  const auto use =
      std::find_if(uses.begin(), uses.end(), [after](const Use& one) { return one.run == after; });
  return LeavesInPart(residency.evictions[t][use - uses.begin()]);
}

/// Pairs of run `r` whose input is evicted after it and comes back from a copy made earlier.
ShortList<AliasPair> AliasesOnCopiedInputs(const Residency& residency, RunId r,
                                           const std::vector<TensorDecision>& tensors) {
  ShortList<AliasPair> pairs;
  for (const AliasPair& pair : residency.runs[r].aliases) {
    const ShortList<Eviction>& evictions = tensors[pair.input].evictions;
    const auto eviction = std::find_if(evictions.begin(), evictions.end(),
                                       [r](const Eviction& g) { return g.after == r; });
    const bool copied = eviction != evictions.end() && !eviction->dropped &&
                        !LeavesInPart(residency, pair.input, r) &&
                        !Saves(residency.uses[pair.input], residency.runs, evictions,
                               static_cast<size_t>(eviction - evictions.begin()));
    if (copied) pairs.push_back(pair);
  }
  return pairs;
}

}  // namespace

Residency ResidencyOf(const Graph& graph, const Decision& decision) {
  UseLists uses = FindUses(graph, decision.runs);
  Buckets<EvictionKind> away(uses.size(), [&](const auto& add) {
    for (size_t t = 0; t < uses.size(); ++t) {
      if (StaysHome(graph.tensors[t], decision.tensors[t].home)) continue;
      if (!Materialised(graph.tensors[t], uses[t])) continue;
      const ShortList<Eviction>& evictions = decision.tensors[t].evictions;
      const Eviction* next = evictions.begin();
      if (next != evictions.end() && next->after == kNone) ++next;
      for (const Use& use : uses[t]) {
        const bool leaves = next != evictions.end() && next->after == use.run;
        add(t, !leaves ? kNotEvicted : next->stays > 0 ? kPartlyEvicted : kEvicted);
        if (leaves) ++next;
      }
    }
  });
  cost::Homes homes;
  for (const TensorDecision& tensor : decision.tensors) homes.push_back(tensor.home);
  return {decision.runs, std::move(uses), std::move(away), std::move(homes), decision.host_bytes};
}

bool IsDropped(const Residency& residency, TensorId t, size_t use) {
  const Use& next = residency.uses[t][use + 1];
  return next.writes && !next.reads && residency.runs[next.run].recompute;
}

Residency WithoutRun(const Graph& graph, const Residency& residency, RunId run,
                     std::vector<RunId>* numbers) {
  std::vector<bool> gone(residency.runs.size());
  gone[run] = true;
  FindUnneeded(graph, residency.runs, &gone);
  std::vector<RunId> number;
  Residency less;
  less.runs.reserve(residency.runs.size());
  for (size_t r = 0; r < gone.size(); ++r) {
    if (!gone[r]) less.runs.push_back(residency.runs[r]);
    number.push_back(static_cast<RunId>(less.runs.size()) - 1);
  }
  less.uses = UseLists(residency.uses.size(), [&](const auto& add) {
    for (size_t t = 0; t < residency.uses.size(); ++t) {
      for (const Use& use : residency.uses[t]) {
        if (!gone[use.run]) add(t, {number[use.run], use.reads, use.writes});
      }
    }
  });
  less.evictions = Buckets<EvictionKind>(residency.evictions.size(), [&](const auto& add) {
    for (size_t t = 0; t < residency.evictions.size(); ++t)
      Join(residency.evictions[t], residency.uses[t], gone,
           [&](EvictionKind away) { add(t, away); });
  });
  less.homes = residency.homes;
  less.host_bytes = residency.host_bytes;
  if (numbers != nullptr) *numbers = std::move(number);
  return less;
}

Residency WithRun(const Graph& graph, const Residency& residency, RunId before, OpId op) {
  const auto first = std::find_if(residency.runs.begin(), residency.runs.end(),
                                  [op](const Run& run) { return run.op == op; });
  Run again = *first;
  again.recompute = true;
  again.aliases.clear();
  Residency more{residency.runs, {}, {}, residency.homes, residency.host_bytes};
  more.runs.insert(more.runs.begin() + before, again);
  more.uses = FindUses(graph, more.runs);
  more.evictions = Buckets<EvictionKind>(residency.evictions.size(), [&](const auto& add) {
    for (size_t t = 0; t < residency.evictions.size(); ++t) {
      const std::span<const EvictionKind> away = residency.evictions[t];
      const std::span<const Use> uses = more.uses[t];
      for (size_t i = 0; i < away.size(); ++i) {
        // There is an earlier use, because the operation has run before.
        const bool splits = i + 1 < uses.size() && uses[i + 1].run == before;
        const bool anew = splits && !uses[i + 1].reads;
        add(t, anew ? std::max(away[i], kEvicted) : away[i]);
        if (splits) add(t, anew ? kNotEvicted : away[i]);
      }
    }
  });
  return more;
}

Decision Lower(const Graph& graph, const Residency& residency) {
  Decision decision;
  decision.runs = residency.runs;
  decision.tensors.resize(graph.tensors.size());
  decision.host_bytes = residency.host_bytes;
  for (size_t t = 0; t < residency.evictions.size(); ++t) {
    const std::span<const Use> uses = residency.uses[t];
    const std::span<const EvictionKind> away = residency.evictions[t];
    TensorDecision& lowered = decision.tensors[t];
    lowered.home = residency.homes[t];
    const bool at_home = graph.tensors[t].is_state() && !away.empty();
    if (at_home) lowered.evictions.push_back(FromTheStart(uses.front()));
    for (size_t i = 0; i + 1 < away.size(); ++i) {
      if (!away[i]) continue;
      const RunId after = uses[i].run, before = uses[i + 1].run;
      const bool dropped = IsDropped(residency, static_cast<TensorId>(t), i);
      lowered.evictions.push_back({after, after, before, before, dropped});
    }
    if (at_home || (graph.tensors[t].keep && !away.empty() && away.back()))
      lowered.evictions.push_back(ToTheEnd(uses.back(), residency.runs));
  }
  for (RunId r = 0; r < static_cast<RunId>(decision.runs.size()); ++r)
    decision.runs[r].aliases = AliasesOnCopiedInputs(residency, r, decision.tensors);
  policies::RunInPlace(graph, residency.uses, policies::InPlace::kAnyRole, &decision);
  return decision;
}

}  // namespace layrub::placement::search
