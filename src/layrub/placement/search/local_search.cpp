#include "layrub/placement/search/local_search.hpp"

#include <algorithm>
#include <iterator>
#include <numeric>
#include <span>
#include <utility>

#include "layrub/placement/cost/live_bytes.hpp"
#include "layrub/placement/ir/program.hpp"
#include "layrub/placement/policies/recompute.hpp"
#include "layrub/placement/search/evaluate.hpp"

namespace layrub::placement::search {
namespace {

/// How many other tensors may be evicted for one change, and before the first change.
constexpr int kMostLeave = 4;
constexpr int kMostLeaveAtStart = 40;

/// One change adds at most so many recomputations.
constexpr RunId kMostAgain = 12;

/// A tensor may be evicted partly if a copy of it takes at least so many latencies.
constexpr double kPartLatencies = 50;

/// Whether the eviction lies between two uses.
bool ComesBack(const Eviction& eviction, const Program& program) {
  return eviction.after != kNone && eviction.before < static_cast<RunId>(program.runs.size());
}

/// The first index at which the sum of `values` so far exceeds `part` of the whole.
size_t Choose(std::vector<double> values, double part) {
  std::partial_sum(values.begin(), values.end(), values.begin());
  const auto chosen = std::upper_bound(values.begin(), values.end() - 1, part * values.back());
  return static_cast<size_t>(chosen - values.begin());
}

}  // namespace

bool LocalSearch::Start(Draft draft, int64_t capacity, uint32_t seed) {
  capacity_ = capacity;
  random_.seed(seed);
  std::vector<Run> originals;
  std::copy_if(draft.program.runs.begin(), draft.program.runs.end(), std::back_inserter(originals),
               [](const Run& run) { return !run.recompute; });
  producers_ = policies::ProducersOfUnkept(graph_, originals);
  std::optional<Timed> timed = Fit({}, kMostLeaveAtStart, &draft);
  if (!timed) return false;
  at_ = {std::move(draft), std::move(*timed)};
  return true;
}

void LocalSearch::Go(int64_t steps) {
  for (; steps > 0; --steps) {
    std::vector<Pin> pins;
    std::optional<Draft> draft = Change(&pins);
    if (!draft) continue;
    std::optional<Timed> timed = Fit(pins, kMostLeave, &*draft);
    if (timed && timed->outcome.seconds <= seconds()) at_ = {std::move(*draft), std::move(*timed)};
  }
}

bool LocalSearch::MayLeaveInPart(TensorId t) const {
  return parts_ && !graph_.tensors[t].is_state() &&
         graph_.tensors[t].bytes > LatencyBytes(machine_, kPartLatencies);
}

double LocalSearch::Fraction() {
  return static_cast<double>(random_()) / (static_cast<double>(std::mt19937::max()) + 1);
}

/// One of the two ways to leave other than `leaves`.
Leaves LocalSearch::AnotherWay(Leaves leaves) {
  return static_cast<Leaves>((static_cast<size_t>(leaves) + 1 + random_() % 2) % 3);
}

std::optional<Draft> LocalSearch::Change(std::vector<Pin>* pins) {
  const std::vector<double>& returns = at_.timed.outcome.returns;
  if (std::none_of(returns.begin(), returns.end(), [](double took) { return took > 0; }))
    return std::nullopt;
  const auto t = static_cast<TensorId>(Choose(returns, Fraction()));
  std::vector<Eviction> evictions;
  for (const Eviction& eviction : at_.draft.program.tensors[t].evictions) {
    if (ComesBack(eviction, at_.draft.program)) evictions.push_back(eviction);
  }
  if (evictions.empty()) return std::nullopt;
  const Eviction eviction = evictions[random_() % evictions.size()];
  if (eviction.dropped) return RemoveRecomputation(eviction.before, Toss(), pins);
  if (MayLeaveInPart(t) && random_() % 4 == 0) {
    Draft draft = at_.draft;
    for (Eviction& one : draft.program.tensors[t].evictions) {
      if (one.after == eviction.after) one.leaves = AnotherWay(one.leaves);
    }
    return draft;
  }
  if (Toss()) return Recompute(t, eviction);
  Draft draft = at_.draft;
  Keep(t, eviction.after, &draft);
  pins->push_back({t, eviction.after});
  return draft;
}

/// Removes the recomputation. If `stays`, its outputs stay on the device until then; otherwise they
/// come from the host.
Draft LocalSearch::RemoveRecomputation(RunId recomputation, bool stays,
                                       std::vector<Pin>* pins) const {
  if (!stays) return WithoutRun(graph_, at_.draft, recomputation);
  Draft draft = at_.draft;
  for (const TensorId t : VariantOf(graph_, draft.program.runs[recomputation]).writes) {
    if (!MayEvict(graph_, draft, t)) continue;
    const std::span<const Use> uses = draft.uses[t];
    for (size_t i = 1; i < uses.size(); ++i) {
      if (uses[i].run != recomputation) continue;
      Keep(t, uses[i - 1].run, &draft);
      pins->push_back({t, uses[i - 1].run});
    }
  }
  std::vector<RunId> numbers;
  Draft less = WithoutRun(graph_, draft, recomputation, &numbers);
  for (Pin& pin : *pins) pin.after = numbers[pin.after];
  return less;
}

/// Recomputes `t` at the end of that eviction; with `parts_`, also the operands that are evicted
/// then.
std::optional<Draft> LocalSearch::Recompute(TensorId t, const Eviction& eviction) const {
  if (!CanRecompute(t, eviction)) return std::nullopt;
  const RunId before = eviction.before;
  Draft draft = WithRun(graph_, at_.draft, before, producers_[t]);
  if (!parts_) return draft;
  RunId end = before + 1;
  for (RunId run = before; run < end && end - before < kMostAgain;) {
    const TensorId missing = Missing(draft.program, run);
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

/// Whether `t` can be recomputed at the end of that eviction.
bool LocalSearch::CanRecompute(TensorId t, const Eviction& eviction) const {
  return producers_[t] != kNone && eviction.after >= producers_[t];
}

/// A tensor that `run` reads and that is copied back for it although it could be recomputed; kNone
/// if there is none.
TensorId LocalSearch::Missing(const Program& program, RunId run) const {
  for (const TensorId t : VariantOf(graph_, program.runs[run]).reads) {
    const Eviction* eviction = FindEviction(program, t, &Eviction::before, run);
    if (eviction != nullptr && !eviction->dropped && CanRecompute(t, *eviction)) return t;
  }
  return kNone;
}

/// Lowers `draft`, evicting up to `most_leave` further tensors until it fits. Returns nothing if it
/// is impossible or does not fit.
std::optional<Timed> LocalSearch::Fit(const std::vector<Pin>& pins, int most_leave, Draft* draft) {
  if (!CheckProgram(graph_, draft->program.runs).ok()) return std::nullopt;
  for (;; --most_leave) {
    Program program = Lower(graph_, *draft);
    const Result<Lifetimes> lives = FindLifetimes(graph_, program, draft->uses, host_bytes_);
    if (!lives.ok()) return std::nullopt;
    std::vector<int64_t> loads = cost::LiveBytes(lives.value(), program.runs.size());
    if (loads.empty() || *std::max_element(loads.begin(), loads.end()) <= capacity_)
      return LowerInTime(graph_, machine_, capacity_, lives.value(), std::move(loads),
                         std::move(program));
    if (most_leave == 0 || !EvictOneTensor(loads, pins, draft)) return std::nullopt;
  }
}

/// Evicts a tensor that the fullest run does not use. Its probability grows with the missing bytes
/// that it has and with the time for which it is not used. Returns false if there is none.
bool LocalSearch::EvictOneTensor(const std::vector<int64_t>& loads, const std::vector<Pin>& pins,
                                 Draft* draft) {
  const auto fullest = std::max_element(loads.begin(), loads.end());
  const auto run = static_cast<RunId>(fullest - loads.begin());
  std::vector<std::pair<TensorId, size_t>> idle;  // tensor, index of use
  std::vector<double> chances;
  for (TensorId t = 0; t < static_cast<TensorId>(graph_.tensors.size()); ++t) {
    const std::span<const Use> uses = draft->uses[t];
    const auto next = std::partition_point(uses.begin(), uses.end(),
                                           [run](const Use& use) { return use.run < run; });
    const bool ends = next == uses.end();
    if (next == uses.begin() || (ends ? !graph_.tensors[t].keep : next->run == run)) continue;
    if (!MayEvict(graph_, *draft, t)) continue;
    const auto i = static_cast<size_t>(next - uses.begin()) - 1;
    const auto until = ends ? static_cast<RunId>(loads.size()) : next->run;
    const bool pinned = std::any_of(pins.begin(), pins.end(), [&](const Pin& pin) {
      return pin.tensor == t && pin.after == uses[i].run;
    });
    if (pinned || FindEviction(draft->program, t, &Eviction::after, uses[i].run) != nullptr)
      continue;
    const int64_t bytes = std::min(Aligned(graph_.tensors[t].bytes), *fullest - capacity_);
    idle.emplace_back(t, i);
    chances.push_back(static_cast<double>(bytes) * (until - uses[i].run));
  }
  if (idle.empty()) return false;
  const auto [t, i] = idle[Choose(chances, Fraction())];
  Evict(t, i, MayLeaveInPart(t) && !graph_.tensors[t].keep ? Leaves::kPart : Leaves::kAll, draft);
  return true;
}

}  // namespace layrub::placement::search
