#include "layrub/placement/search/draft.hpp"

#include <algorithm>
#include <span>
#include <utility>

#include "layrub/placement/policies/common.hpp"

namespace layrub::placement::search {
namespace {

bool Touches(const Graph& graph, const Run& run, TensorId t) {
  return !run.recompute || TouchedByRecomputation(graph, VariantOf(graph, run), t);
}

/// Adds to `gone` each recomputation that nobody needs: its outputs are written again before they
/// are read.
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

/// The number of the last of `uses` up to run `run`; -1 if there is none.
int64_t UseUpTo(std::span<const Use> uses, RunId run) {
  const auto later = std::upper_bound(uses.begin(), uses.end(), run,
                                      [](RunId at, const Use& use) { return at < use.run; });
  return later - uses.begin() - 1;
}

/// An eviction like `old` after the last of `uses` up to run `after`.
Eviction Redone(const Eviction& old, RunId after, std::span<const Use> uses,
                const std::vector<Run>& runs) {
  const int64_t use = UseUpTo(uses, after);
  Eviction eviction =
      use < 0 ? FromTheStart(uses.front()) : AfterUse(uses, static_cast<size_t>(use), runs);
  eviction.leaves = old.leaves;
  return eviction;
}

/// Pairs of run `r` whose input is evicted after it and comes back from a copy made earlier.
ShortList<AliasPair> AliasesOnCopiedInputs(const Graph& graph, const Program& program,
                                           const UseLists& uses, RunId r) {
  ShortList<AliasPair> pairs;
  for (const AliasPair& pair : program.runs[r].aliases) {
    const Eviction* eviction = FindEviction(program, pair.input, &Eviction::after, r);
    if (eviction == nullptr || eviction->dropped || eviction->leaves != Leaves::kAll) continue;
    const ShortList<RunId> offloads =
        FindOffloads(graph.tensors[pair.input], uses[pair.input], program.runs,
                     program.tensors[pair.input].evictions);
    if (std::find(offloads.begin(), offloads.end(), r) == offloads.end()) pairs.push_back(pair);
  }
  return pairs;
}

}  // namespace

Draft MakeDraft(const Graph& graph, Program program) {
  UseLists uses = FindUses(graph, program.runs);
  for (size_t t = 0; t < uses.size(); ++t) {
    for (Eviction& eviction : program.tensors[t].evictions) {
      const Leaves leaves = eviction.stays > 0 ? Leaves::kPart : Leaves::kAll;
      eviction = Redone(eviction, eviction.after, uses[t], program.runs);
      eviction.leaves = leaves;
    }
  }
  return {std::move(program), std::move(uses)};
}

const Eviction* FindEviction(const Program& program, TensorId t, RunId Eviction::*end, RunId run) {
  const ShortList<Eviction>& evictions = program.tensors[t].evictions;
  const auto* found = std::find_if(evictions.begin(), evictions.end(),
                                   [&](const Eviction& eviction) { return eviction.*end == run; });
  return found == evictions.end() ? nullptr : found;
}

bool MayEvict(const Graph& graph, const Draft& draft, TensorId t) {
  return !StaysHome(graph.tensors[t], draft.program.tensors[t].home) &&
         Materialised(graph.tensors[t], draft.uses[t]);
}

void Evict(TensorId t, size_t use, Leaves leaves, Draft* draft) {
  ShortList<Eviction>& evictions = draft->program.tensors[t].evictions;
  Eviction eviction = AfterUse(draft->uses[t], use, draft->program.runs);
  eviction.leaves = leaves;
  auto* const next = std::find_if(evictions.begin(), evictions.end(), [&](const Eviction& other) {
    return other.after >= eviction.after;
  });
  if (next != evictions.end() && next->after == eviction.after) {
    *next = eviction;
  } else {
    evictions.insert(next, eviction);
  }
}

void Keep(TensorId t, RunId after, Draft* draft) {
  const Eviction* eviction = FindEviction(draft->program, t, &Eviction::after, after);
  ShortList<Eviction>& evictions = draft->program.tensors[t].evictions;
  if (eviction != nullptr) evictions.erase(evictions.begin() + (eviction - evictions.begin()));
}

Draft WithoutRun(const Graph& graph, const Draft& draft, RunId run, std::vector<RunId>* numbers) {
  const std::vector<Run>& runs = draft.program.runs;
  std::vector<bool> gone(runs.size());
  gone[run] = true;
  FindUnneeded(graph, runs, &gone);
  std::vector<RunId> number;
  Program less;
  less.runs.reserve(runs.size());
  for (size_t r = 0; r < gone.size(); ++r) {
    if (!gone[r]) less.runs.push_back(runs[r]);
    number.push_back(static_cast<RunId>(less.runs.size()) - 1);
  }
  UseLists uses(draft.uses.size(), [&](const auto& add) {
    for (size_t t = 0; t < draft.uses.size(); ++t) {
      for (const Use& use : draft.uses[t]) {
        if (!gone[use.run]) add(t, {number[use.run], use.reads, use.writes});
      }
    }
  });
  less.tensors.reserve(uses.size());
  for (size_t t = 0; t < uses.size(); ++t) {
    const TensorProgram& old = draft.program.tensors[t];
    TensorProgram& tensor = less.tensors.emplace_back(TensorProgram{old.whole, {}, old.home});
    for (const Eviction& eviction : old.evictions) {
      const RunId after = eviction.after == kNone ? kNone : number[eviction.after];
      const Eviction joined = Redone(eviction, after, uses[t], less.runs);
      // Of evictions that become one, the first says how much leaves.
      if (tensor.evictions.empty() || tensor.evictions.back().after != joined.after)
        tensor.evictions.push_back(joined);
    }
  }
  if (numbers != nullptr) *numbers = std::move(number);
  return {std::move(less), std::move(uses)};
}

Draft WithRun(const Graph& graph, const Draft& draft, RunId before, OpId op) {
  Draft more{draft.program, {}};
  std::vector<Run>& runs = more.program.runs;
  Run again =
      *std::find_if(runs.begin(), runs.end(), [op](const Run& run) { return run.op == op; });
  again.recompute = true;
  again.aliases.clear();
  runs.insert(runs.begin() + before, again);
  more.uses = FindUses(graph, runs);
  for (size_t t = 0; t < more.uses.size(); ++t) {
    const std::span<const Use> uses = more.uses[t];
    for (Eviction& eviction : more.program.tensors[t].evictions) {
      const RunId after = eviction.after + (eviction.after >= before);
      eviction = Redone(eviction, after, uses, runs);
    }
  }
  for (const auto* operands : {&VariantOf(graph, again).reads, &VariantOf(graph, again).writes}) {
    for (const TensorId t : *operands) {
      const int64_t use = UseUpTo(more.uses[t], before);
      if (use < 0 || more.uses[t][use].run != before || !MayEvict(graph, more, t)) continue;
      // There is an earlier use, because the operation has run before.
      const Eviction* split = FindEviction(more.program, t, &Eviction::before, before);
      if (split == nullptr) {
        if (!more.uses[t][use].reads) Evict(t, use - 1, Leaves::kAll, &more);
      } else if (more.uses[t][use].reads) {
        Evict(t, use, split->leaves, &more);
      }
    }
  }
  return more;
}

Program Lower(const Graph& graph, const Draft& draft) {
  Program program = draft.program;
  for (size_t t = 0; t < program.tensors.size(); ++t) {
    ShortList<Eviction>& evictions = program.tensors[t].evictions;
    const bool comes_back = graph.tensors[t].is_state() || graph.tensors[t].keep;
    if (!comes_back && !evictions.empty() &&
        evictions.back().before == static_cast<RunId>(program.runs.size()))
      evictions.pop_back();
  }
  for (RunId r = 0; r < static_cast<RunId>(program.runs.size()); ++r)
    program.runs[r].aliases = AliasesOnCopiedInputs(graph, program, draft.uses, r);
  policies::RunInPlace(graph, draft.uses, policies::InPlace::kAnyRole, &program);
  return program;
}

}  // namespace layrub::placement::search
