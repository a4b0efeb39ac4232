#include "layrub/placement/strategies/draft.hpp"

#include <algorithm>
#include <span>
#include <utility>

#include "layrub/placement/strategies/pieces.hpp"
#include "layrub/placement/strategies/time_copies.hpp"

namespace layrub {
namespace {

const Form& FormOf(const Graph& graph, const Run& run) { return graph.ops[run.op].forms[run.form]; }

bool Touches(const Graph& graph, const Run& run, TensorId t) {
  return !run.recompute || TouchedAgain(graph, FormOf(graph, run), t);
}

/// Adds to `gone` the recomputations whose outputs nobody reads before they are written again.
void FindUnneeded(const Graph& graph, const std::vector<Run>& runs, std::vector<bool>* gone) {
  std::vector<bool> needed;
  for (const Tensor& tensor : graph.tensors) needed.push_back(tensor.keep || tensor.persistent);
  for (size_t r = runs.size(); r-- > 0;) {
    if ((*gone)[r]) continue;
    const Run& run = runs[r];
    const Form& form = FormOf(graph, run);
    (*gone)[r] = run.recompute &&
                 std::none_of(form.writes.begin(), form.writes.end(),
                              [&](TensorId t) { return Touches(graph, run, t) && needed[t]; });
    if ((*gone)[r]) continue;
    for (const TensorId t : form.writes) {
      if (Touches(graph, run, t) && !graph.tensors[t].persistent) needed[t] = false;
    }
    for (const TensorId t : form.reads) {
      if (Touches(graph, run, t)) needed[t] = true;
    }
  }
}

/// The stretches between the uses that are left: away if a part of it was.
std::vector<bool> Join(const std::vector<bool>& away, std::span<const Use> uses,
                       const std::vector<bool>& gone) {
  std::vector<bool> joined;
  for (size_t i = 0; i < away.size(); ++i) {
    if (!gone[uses[i].run]) {
      joined.push_back(away[i]);
    } else if (!joined.empty()) {
      joined.back() = joined.back() || away[i];
    }
  }
  return joined;
}

/// Output pairs of run `r` whose input leaves after it, to come back from a copy made before.
ShortList<AliasPair> OnCopied(const Draft& draft, RunId r,
                              const std::vector<TensorDecision>& tensors) {
  ShortList<AliasPair> pairs;
  for (const AliasPair& pair : draft.runs[r].aliases) {
    const ShortList<Gap>& gaps = tensors[pair.input].gaps;
    const auto gap =
        std::find_if(gaps.begin(), gaps.end(), [r](const Gap& g) { return g.after == r; });
    const bool copied =
        gap != gaps.end() && !gap->dropped &&
        !Saves(draft.uses[pair.input], draft.runs, gaps, static_cast<size_t>(gap - gaps.begin()));
    if (copied) pairs.push_back(pair);
  }
  return pairs;
}

}  // namespace

Draft DraftOf(const Graph& graph, const Decision& decision) {
  Draft draft{decision.runs, FindUses(graph, decision.runs), {}};
  draft.away.resize(graph.tensors.size());
  for (size_t t = 0; t < draft.away.size(); ++t) {
    const std::span<const Use> uses = draft.uses[t];
    if (graph.tensors[t].persistent || !Materialised(graph.tensors[t], uses)) continue;
    draft.away[t].resize(uses.size());
    size_t i = 0;
    for (const Gap& gap : decision.tensors[t].gaps) {
      while (uses[i].run != gap.after) ++i;
      draft.away[t][i] = true;
    }
  }
  return draft;
}

bool IsDropped(const Draft& draft, TensorId t, size_t use) {
  const Use& next = draft.uses[t][use + 1];
  return next.writes && !next.reads && draft.runs[next.run].recompute;
}

Draft WithoutRun(const Graph& graph, const Draft& draft, RunId run, std::vector<RunId>* numbers) {
  std::vector<bool> gone(draft.runs.size());
  gone[run] = true;
  FindUnneeded(graph, draft.runs, &gone);
  Draft less;
  for (size_t r = 0; r < gone.size(); ++r) {
    if (!gone[r]) less.runs.push_back(draft.runs[r]);
    if (numbers != nullptr) numbers->push_back(static_cast<RunId>(less.runs.size()) - 1);
  }
  less.uses = FindUses(graph, less.runs);
  for (size_t t = 0; t < draft.away.size(); ++t)
    less.away.push_back(Join(draft.away[t], draft.uses[t], gone));
  return less;
}

Draft WithRun(const Graph& graph, const Draft& draft, RunId before, OpId op) {
  const auto first = std::find_if(draft.runs.begin(), draft.runs.end(),
                                  [op](const Run& run) { return run.op == op; });
  Run again = *first;
  again.recompute = true;
  again.aliases.clear();
  Draft more{draft.runs, {}, draft.away};
  more.runs.insert(more.runs.begin() + before, again);
  more.uses = FindUses(graph, more.runs);
  for (size_t t = 0; t < more.away.size(); ++t) {
    if (more.away[t].empty() || more.away[t].size() == more.uses[t].size()) continue;
    const std::span<const Use> uses = more.uses[t];
    const auto use =
        std::find_if(uses.begin(), uses.end(), [&](const Use& u) { return u.run == before; });
    // It has been used before: the operation has run.
    const auto stretch = more.away[t].begin() + (use - uses.begin()) - 1;
    const bool was_away = *stretch;
    if (!use->reads) *stretch = true;
    more.away[t].insert(stretch + 1, use->reads && was_away);
  }
  return more;
}

Decision Spell(const Graph& graph, const Draft& draft) {
  Decision decision{draft.runs, std::vector<TensorDecision>(graph.tensors.size())};
  for (size_t t = 0; t < draft.away.size(); ++t) {
    const std::span<const Use> uses = draft.uses[t];
    for (size_t i = 0; i + 1 < draft.away[t].size(); ++i) {
      if (!draft.away[t][i]) continue;
      const RunId after = uses[i].run, before = uses[i + 1].run;
      const bool dropped = IsDropped(draft, static_cast<TensorId>(t), i);
      decision.tensors[t].gaps.push_back({after, after, before, before, dropped});
    }
  }
  for (RunId r = 0; r < static_cast<RunId>(decision.runs.size()); ++r)
    decision.runs[r].aliases = OnCopied(draft, r, decision.tensors);
  RunInPlace(graph, draft.uses, InPlace::kAnyRole, &decision);
  return decision;
}

}  // namespace layrub
