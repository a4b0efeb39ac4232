#include "layrub/placement/strategies/descent.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <numeric>
#include <span>
#include <tuple>
#include <utility>

#include "layrub/placement/program.hpp"
#include "layrub/placement/strategies/loads.hpp"
#include "layrub/placement/strategies/recompute.hpp"
#include "layrub/placement/strategies/time_copies.hpp"

namespace layrub {
namespace {

/// So many others may leave for one change, and before the first of them.
constexpr int kMostLeave = 4;
constexpr int kMostLeaveAtStart = 40;

/// So many operations at most run again for one change.
constexpr RunId kMostAgain = 12;

/// A piece of a copy takes so many times its latency, and no tensor has more than so many pieces.
constexpr double kPieceLatencies = 50;
constexpr int64_t kMostPieces = 32;

/// 0, for whole copies, where these have no latency.
int64_t PieceBytes(const Graph& graph, const Machine& machine) {
  const auto piece = static_cast<int64_t>(kPieceLatencies * machine.latency * machine.link_up);
  if (piece == 0) return 0;
  int64_t largest = 0;
  for (const Tensor& tensor : graph.tensors)
    largest = std::max(largest, tensor.persistent ? 0 : tensor.bytes);
  return Aligned(std::max(piece, largest / kMostPieces));
}

/// What leaves in part keeps a multiple of this part of a piece, or of kAlignment.
constexpr int64_t kPartsOfPiece = 256;

/// A stretch during which a tensor is away in part.
struct Part {
  TensorId tensor = kNone;
  Gap* gap = nullptr;
  bool barely = false;
};

/// In the order in which they keep bytes: what stays for a short time leaves more room to others.
std::vector<Part> PartsOf(const Graph& graph, const Draft& draft, Decision* decision) {
  std::vector<Part> parts;
  for (size_t t = 0; t < draft.away.size(); ++t) {
    Gap* next = decision->tensors[t].gaps.begin();
    for (size_t i = 0; i + 1 < draft.away[t].size(); ++i) {
      const Away away = draft.away[t][i];
      if (away == kThere) continue;
      Gap* gap = next++;
      if (LeavesInPart(away) && !gap->dropped && !graph.tensors[t].keep)
        parts.push_back({static_cast<TensorId>(t), gap, away == kBarelyAway});
    }
  }
  const auto rank = [](const Part& part) {
    return std::tuple(!part.barely, part.gap->before - part.gap->after);
  };
  std::stable_sort(parts.begin(), parts.end(),
                   [&](const Part& a, const Part& b) { return rank(a) < rank(b); });
  return parts;
}

/// What leaves in part keeps as much as there is room for all the time that it is away. False if
/// nothing does.
bool KeepParts(const Graph& graph, const Draft& draft, int64_t room, std::vector<int64_t>* loads,
               Decision* decision) {
  const int64_t unit = std::max(kAlignment, Aligned(decision->piece_bytes / kPartsOfPiece));
  bool some = false;
  for (const Part& part : PartsOf(graph, draft, decision)) {
    const auto first = loads->begin() + part.gap->after + 1;
    const auto last = loads->begin() + part.gap->before;
    if (first == last) continue;
    const int64_t left = room - *std::max_element(first, last);
    const int64_t most = graph.tensors[part.tensor].bytes - 1;
    part.gap->stays = std::max<int64_t>(0, std::min(left, most)) / unit * unit;
    for (auto load = first; load != last; ++load) *load += part.gap->stays;
    some = some || part.gap->stays > 0;
  }
  return some;
}

/// `lives` and `loads` are those of `decision`, which is `draft` spelled out.
void TimeCopies(const Graph& graph, const Machine& machine, const Draft& draft, int64_t room,
                std::vector<int64_t> loads, Lifetimes* lives, Decision* decision) {
  decision->piece_bytes = PieceBytes(graph, machine);
  if (KeepParts(graph, draft, room, &loads, decision))
    *lives = FindLifetimes(graph, *decision, draft.uses).value();
  HoldSaves(graph, machine, room, draft.uses, *lives, &loads, decision);
  FetchEarly(graph, machine, room, loads, decision);
  Retime(*decision, lives);
}

/// The first index at which the sum of `values` so far exceeds `part` of the whole.
size_t Choose(std::vector<double> values, double part) {
  std::partial_sum(values.begin(), values.end(), values.begin());
  const auto chosen = std::upper_bound(values.begin(), values.end() - 1, part * values.back());
  return static_cast<size_t>(chosen - values.begin());
}

}  // namespace

std::optional<Decision> Settle(const Graph& graph, const Machine& machine, const Draft& draft,
                               int64_t room) {
  Decision decision = Spell(graph, draft);
  Result<Lifetimes> lives = FindLifetimes(graph, decision);
  if (!lives.ok()) return std::nullopt;
  std::vector<int64_t> loads = Loads(lives.value(), decision.runs.size());
  TimeCopies(graph, machine, draft, room, std::move(loads), &lives.value(), &decision);
  return decision;
}

bool Descent::Start(Draft draft, int64_t room) {
  room_ = room;
  random_.seed(std::mt19937::default_seed);
  std::vector<Run> originals;
  std::copy_if(draft.runs.begin(), draft.runs.end(), std::back_inserter(originals),
               [](const Run& run) { return !run.recompute; });
  producers_ = Producers(graph_, originals);
  Decision decision;
  Lifetimes lives;
  if (!Fit(&draft, {}, kMostLeaveAtStart, &decision, &lives)) return false;
  Outcome outcome = judge_(lives, decision);
  at_ = {std::move(draft), std::move(decision), std::move(outcome)};
  return true;
}

void Descent::Go(int64_t steps) {
  for (; steps > 0; --steps) {
    std::vector<Pin> pins;
    std::optional<Draft> draft = Change(&pins);
    if (!draft) continue;
    Decision decision;
    Lifetimes lives;
    if (!Fit(&*draft, pins, kMostLeave, &decision, &lives)) continue;
    Outcome outcome = judge_(lives, decision);
    if (outcome.seconds <= seconds())
      at_ = {std::move(*draft), std::move(decision), std::move(outcome)};
  }
}

bool Descent::MayLeaveInPart(size_t t) const {
  return parts_ && graph_.tensors[t].bytes > at_.decision.piece_bytes;
}

double Descent::Fraction() {
  return static_cast<double>(random_()) / (static_cast<double>(std::mt19937::max()) + 1);
}

/// Of the ways to be away, one of the two that are not `away`.
Away Descent::AnotherWay(Away away) {
  constexpr std::array<Away, 3> kWays{kAway, kPartlyAway, kBarelyAway};
  const auto at = std::find(kWays.begin(), kWays.end(), away) - kWays.begin();
  return kWays[(static_cast<size_t>(at) + 1 + random_() % 2) % kWays.size()];
}

std::optional<Draft> Descent::Change(std::vector<Pin>* pins) {
  const std::vector<double>& returns = at_.outcome.returns;
  if (std::none_of(returns.begin(), returns.end(), [](double took) { return took > 0; }))
    return std::nullopt;
  const auto t = static_cast<TensorId>(Choose(returns, Fraction()));
  const std::span<const Away> away = at_.draft.away[t];
  std::vector<size_t> stretches;
  for (size_t i = 0; i + 1 < away.size(); ++i) {
    if (away[i]) stretches.push_back(i);
  }
  if (stretches.empty()) return std::nullopt;
  const size_t i = stretches[random_() % stretches.size()];
  if (IsDropped(at_.draft, t, i)) return BringOtherwise(at_.draft.uses[t][i + 1].run, Toss(), pins);
  Draft draft = at_.draft;
  if (MayLeaveInPart(t) && random_() % 4 == 0) {
    draft.away[t][i] = AnotherWay(away[i]);
    return draft;
  }
  if (Toss()) return Recompute(t, i);
  draft.away[t][i] = kThere;
  pins->push_back({t, draft.uses[t][i].run});
  return draft;
}

/// The recomputation does not happen: what it writes stays until it would, or comes from the host.
Draft Descent::BringOtherwise(RunId recomputation, bool stays, std::vector<Pin>* pins) const {
  Draft draft = at_.draft;
  const Run& run = draft.runs[recomputation];
  for (const TensorId t : graph_.ops[run.op].forms[run.form].writes) {
    for (size_t i = 1; stays && i < draft.away[t].size(); ++i) {
      if (draft.uses[t][i].run != recomputation) continue;
      draft.away[t][i - 1] = kThere;
      pins->push_back({t, draft.uses[t][i - 1].run});
    }
  }
  std::vector<RunId> numbers;
  Draft less = WithoutRun(graph_, draft, recomputation, &numbers);
  for (Pin& pin : *pins) pin.after = numbers[pin.after];
  return less;
}

/// `t` is computed again where it would be back; with `parts`, what that needs and is away, too.
std::optional<Draft> Descent::Recompute(TensorId t, size_t stretch) const {
  if (!CanRecompute(at_.draft, t, stretch)) return std::nullopt;
  const RunId before = at_.draft.uses[t][stretch + 1].run;
  Draft draft = WithRun(graph_, at_.draft, before, producers_[t]);
  if (!parts_) return draft;
  RunId end = before + 1;
  for (RunId run = before; run < end && end - before < kMostAgain;) {
    const TensorId missing = Missing(draft, run);
    if (missing == kNone) {
      ++run;
      continue;
    }
    draft = WithRun(graph_, draft, before, producers_[missing]);
    ++end;
    run = before;
  }
  return draft;
}

/// Whether `t` can be computed again at the end of that stretch.
bool Descent::CanRecompute(const Draft& draft, TensorId t, size_t stretch) const {
  return producers_[t] != kNone && draft.uses[t][stretch].run >= producers_[t];
}

/// What `run` reads and is copied back for it though it can be computed again; kNone: nothing.
TensorId Descent::Missing(const Draft& draft, RunId run) const {
  const Run& reader = draft.runs[run];
  for (const TensorId t : graph_.ops[reader.op].forms[reader.form].reads) {
    if (draft.away[t].empty()) continue;
    const std::span<const Use> uses = draft.uses[t];
    const auto use =
        std::find_if(uses.begin(), uses.end(), [run](const Use& one) { return one.run == run; });
    if (use == uses.begin() || use == uses.end()) continue;
    const auto stretch = static_cast<size_t>(use - uses.begin()) - 1;
    if (draft.away[t][stretch] && !IsDropped(draft, t, stretch) && CanRecompute(draft, t, stretch))
      return t;
  }
  return kNone;
}

/// Spells out `draft`, from which others leave. False if it asks something impossible, or if too
/// many would have to leave.
bool Descent::Fit(Draft* draft, const std::vector<Pin>& pins, int most_leave, Decision* decision,
                  Lifetimes* lives) {
  if (!CheckProgram(graph_, draft->runs).ok()) return false;
  for (;; --most_leave) {
    *decision = Spell(graph_, *draft);
    Result<Lifetimes> found = FindLifetimes(graph_, *decision, draft->uses);
    if (!found.ok()) return false;
    *lives = std::move(found.value());
    const std::vector<int64_t> loads = Loads(*lives, decision->runs.size());
    if (loads.empty() || *std::max_element(loads.begin(), loads.end()) <= room_) {
      TimeCopies(graph_, machine_, *draft, room_, loads, lives, decision);
      return true;
    }
    if (most_leave == 0 || !LetLeave(loads, pins, draft)) return false;
  }
}

/// Something that the fullest run does not use leaves for that time: the rather the more of what
/// lacks it has, and the longer it is not used. False if there is nothing.
bool Descent::LetLeave(const std::vector<int64_t>& loads, const std::vector<Pin>& pins,
                       Draft* draft) {
  const auto fullest = std::max_element(loads.begin(), loads.end());
  const auto run = static_cast<RunId>(fullest - loads.begin());
  std::vector<std::pair<size_t, size_t>> idle;  // tensor, stretch
  std::vector<double> chances;
  for (size_t t = 0; t < draft->away.size(); ++t) {
    if (draft->away[t].empty()) continue;
    const auto uses = draft->uses[t];
    const auto next = std::partition_point(uses.begin(), uses.end(),
                                           [run](const Use& use) { return use.run < run; });
    if (next == uses.begin() || next == uses.end() || next->run == run) continue;
    const auto i = static_cast<size_t>(next - uses.begin()) - 1;
    const bool pinned = std::any_of(pins.begin(), pins.end(), [&](const Pin& pin) {
      return pin.tensor == static_cast<TensorId>(t) && pin.after == uses[i].run;
    });
    if (draft->away[t][i] || pinned) continue;
    const int64_t bytes = std::min(Aligned(graph_.tensors[t].bytes), *fullest - room_);
    idle.emplace_back(t, i);
    chances.push_back(static_cast<double>(bytes) * (next->run - uses[i].run));
  }
  if (idle.empty()) return false;
  const auto [t, i] = idle[Choose(chances, Fraction())];
  draft->away[t][i] = MayLeaveInPart(t) ? kPartlyAway : kAway;
  return true;
}

}  // namespace layrub
