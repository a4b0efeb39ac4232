#include "layrub/placement/search/local_search.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <numeric>
#include <span>
#include <tuple>
#include <utility>

#include "layrub/placement/cost/live_bytes.hpp"
#include "layrub/placement/ir/program.hpp"
#include "layrub/placement/policies/recompute.hpp"
#include "layrub/placement/search/time_copies.hpp"

namespace layrub::placement::search {
namespace {

/// How many other tensors may be evicted for one change, and before the first change.
constexpr int kMostLeave = 4;
constexpr int kMostLeaveAtStart = 40;

/// One change adds at most so many recomputations.
constexpr RunId kMostAgain = 12;

/// A tensor may be evicted partly if a copy of it takes at least kPartLatencies times the latency.
/// What it keeps is a multiple of what the link copies in kUnitLatencies times the latency, because
/// copies that differ by less take equally long.
constexpr double kPartLatencies = 50;
constexpr double kUnitLatencies = 0.2;

/// Bytes that the link up copies in so many latencies.
int64_t LatencyBytes(const Machine& machine, double latencies) {
  return Aligned(static_cast<int64_t>(latencies * machine.latency * machine.link_up));
}

/// A partial eviction of a tensor.
struct Part {
  TensorId tensor = kNone;
  Eviction* eviction = nullptr;
  bool barely = false;
};

/// The partial evictions in the order in which they keep bytes: a part that stays for a short time
/// leaves more bytes to others.
std::vector<Part> PartsOf(const Graph& graph, const Residency& residency, Decision* decision) {
  std::vector<Part> parts;
  for (size_t t = 0; t < residency.evictions.size(); ++t) {
    if (graph.tensors[t].is_state()) continue;
    Eviction* next = decision->tensors[t].evictions.begin();
    for (size_t i = 0; i + 1 < residency.evictions[t].size(); ++i) {
      const EvictionKind away = residency.evictions[t][i];
      if (away == kNotEvicted) continue;
      Eviction* eviction = next++;
      if (LeavesInPart(away) && !eviction->dropped && !graph.tensors[t].keep)
        parts.push_back({static_cast<TensorId>(t), eviction, away == kBarelyEvicted});
    }
  }
  const auto rank = [](const Part& part) {
    return std::tuple(!part.barely, part.eviction->before - part.eviction->after);
  };
  std::stable_sort(parts.begin(), parts.end(),
                   [&](const Part& a, const Part& b) { return rank(a) < rank(b); });
  return parts;
}

/// A partly evicted tensor keeps as many bytes on the device as fit during the whole eviction.
/// Returns false if no tensor keeps any.
bool KeepParts(const Graph& graph, const Machine& machine, const Residency& residency,
               int64_t capacity, std::vector<int64_t>* loads, Decision* decision) {
  const int64_t unit = std::max(kAlignment, LatencyBytes(machine, kUnitLatencies));
  bool some = false;
  for (const Part& part : PartsOf(graph, residency, decision)) {
    const auto first = loads->begin() + part.eviction->after + 1;
    const auto last = loads->begin() + part.eviction->before;
    if (first == last) continue;
    const int64_t left = capacity - *std::max_element(first, last);
    const int64_t most = graph.tensors[part.tensor].bytes - 1;
    part.eviction->stays = std::max<int64_t>(0, std::min(left, most)) / unit * unit;
    for (auto load = first; load != last; ++load) *load += part.eviction->stays;
    some = some || part.eviction->stays > 0;
  }
  return some;
}

/// Chooses parts and times of copies of `decision`, the lowered `residency`. `lives` and `loads`
/// are those of `decision`.
void TimeCopies(const Graph& graph, const Machine& machine, const Residency& residency,
                int64_t capacity, std::vector<int64_t> loads, Lifetimes* lives,
                Decision* decision) {
  if (KeepParts(graph, machine, residency, capacity, &loads, decision))
    *lives = FindLifetimes(graph, *decision, residency.uses).value();
  HoldSaves(graph, machine, capacity, residency.uses, *lives, &loads, decision);
  FetchEarly(graph, machine, capacity, loads, decision);
  Retime(*decision, lives);
}

/// The first index at which the sum of `values` so far exceeds `part` of the whole.
size_t Choose(std::vector<double> values, double part) {
  std::partial_sum(values.begin(), values.end(), values.begin());
  const auto chosen = std::upper_bound(values.begin(), values.end() - 1, part * values.back());
  return static_cast<size_t>(chosen - values.begin());
}

}  // namespace

std::optional<Decision> LowerInTime(const Graph& graph, const Machine& machine,
                                    const Residency& residency, int64_t capacity) {
  Decision decision = Lower(graph, residency);
  Result<Lifetimes> lives = FindLifetimes(graph, decision);
  if (!lives.ok()) return std::nullopt;
  std::vector<int64_t> loads = cost::LiveBytes(lives.value(), decision.runs.size());
  TimeCopies(graph, machine, residency, capacity, std::move(loads), &lives.value(), &decision);
  return decision;
}

bool LocalSearch::Start(Residency residency, int64_t capacity, uint32_t seed) {
  capacity_ = capacity;
  random_.seed(seed);
  std::vector<Run> originals;
  std::copy_if(residency.runs.begin(), residency.runs.end(), std::back_inserter(originals),
               [](const Run& run) { return !run.recompute; });
  producers_ = policies::ProducersOfUnkept(graph_, originals);
  Decision decision;
  Lifetimes lives;
  if (!Fit(&residency, {}, kMostLeaveAtStart, &decision, &lives)) return false;
  Outcome outcome = judge_(lives, decision);
  at_ = {std::move(residency), std::move(decision), std::move(outcome)};
  return true;
}

void LocalSearch::Go(int64_t steps) {
  for (; steps > 0; --steps) {
    std::vector<Pin> pins;
    std::optional<Residency> residency = Change(&pins);
    if (!residency) continue;
    Decision decision;
    Lifetimes lives;
    if (!Fit(&*residency, pins, kMostLeave, &decision, &lives)) continue;
    Outcome outcome = judge_(lives, decision);
    if (outcome.seconds <= seconds())
      at_ = {std::move(*residency), std::move(decision), std::move(outcome)};
  }
}

bool LocalSearch::MayLeaveInPart(size_t t) const {
  return parts_ && !graph_.tensors[t].is_state() &&
         graph_.tensors[t].bytes > LatencyBytes(machine_, kPartLatencies);
}

double LocalSearch::Fraction() {
  return static_cast<double>(random_()) / (static_cast<double>(std::mt19937::max()) + 1);
}

/// One of the two kinds of eviction other than `away`.
EvictionKind LocalSearch::AnotherEvictionKind(EvictionKind away) {
  constexpr std::array<EvictionKind, 3> kWays{kEvicted, kPartlyEvicted, kBarelyEvicted};
  const auto at = std::find(kWays.begin(), kWays.end(), away) - kWays.begin();
  return kWays[(static_cast<size_t>(at) + 1 + random_() % 2) % kWays.size()];
}

std::optional<Residency> LocalSearch::Change(std::vector<Pin>* pins) {
  const std::vector<double>& returns = at_.outcome.returns;
  if (std::none_of(returns.begin(), returns.end(), [](double took) { return took > 0; }))
    return std::nullopt;
  const auto t = static_cast<TensorId>(Choose(returns, Fraction()));
  const std::span<const EvictionKind> away = at_.residency.evictions[t];
  std::vector<size_t> stretches;
  for (size_t i = 0; i + 1 < away.size(); ++i) {
    if (away[i]) stretches.push_back(i);
  }
  if (stretches.empty()) return std::nullopt;
  const size_t i = stretches[random_() % stretches.size()];
  if (IsDropped(at_.residency, t, i))
    return RemoveRecomputation(at_.residency.uses[t][i + 1].run, Toss(), pins);
  Residency residency = at_.residency;
  if (MayLeaveInPart(t) && random_() % 4 == 0) {
    residency.evictions[t][i] = AnotherEvictionKind(away[i]);
    return residency;
  }
  if (Toss()) return Recompute(t, i);
  residency.evictions[t][i] = kNotEvicted;
  pins->push_back({t, residency.uses[t][i].run});
  return residency;
}

/// Removes the recomputation. If `stays`, its outputs stay on the device until then; otherwise they
/// come from the host.
Residency LocalSearch::RemoveRecomputation(RunId recomputation, bool stays,
                                           std::vector<Pin>* pins) const {
  Residency residency = at_.residency;
  const Run& run = residency.runs[recomputation];
  for (const TensorId t : VariantOf(graph_, run).writes) {
    for (size_t i = 1; stays && i < residency.evictions[t].size(); ++i) {
      if (residency.uses[t][i].run != recomputation) continue;
      residency.evictions[t][i - 1] = kNotEvicted;
      pins->push_back({t, residency.uses[t][i - 1].run});
    }
  }
  std::vector<RunId> numbers;
  Residency less = WithoutRun(graph_, residency, recomputation, &numbers);
  for (Pin& pin : *pins) pin.after = numbers[pin.after];
  return less;
}

/// Recomputes `t` at the end of that eviction; with `parts_`, also the operands that are evicted
/// then.
std::optional<Residency> LocalSearch::Recompute(TensorId t, size_t stretch) const {
  if (!CanRecompute(at_.residency, t, stretch)) return std::nullopt;
  const RunId before = at_.residency.uses[t][stretch + 1].run;
  Residency residency = WithRun(graph_, at_.residency, before, producers_[t]);
  if (!parts_) return residency;
  RunId end = before + 1;
  for (RunId run = before; run < end && end - before < kMostAgain;) {
    const TensorId missing = Missing(residency, run);
    if (missing == kNone) {
      ++run;
      continue;
    }
    residency = WithRun(graph_, residency, before, producers_[missing]);
    ++end;
    run = before;
  }
  return residency;
}

/// Whether `t` can be recomputed at the end of that eviction.
bool LocalSearch::CanRecompute(const Residency& residency, TensorId t, size_t stretch) const {
  return producers_[t] != kNone && residency.uses[t][stretch].run >= producers_[t];
}

/// A tensor that `run` reads and that is copied back for it although it could be recomputed; kNone
/// if there is none.
TensorId LocalSearch::Missing(const Residency& residency, RunId run) const {
  const Run& reader = residency.runs[run];
  for (const TensorId t : VariantOf(graph_, reader).reads) {
    if (residency.evictions[t].empty()) continue;
    const std::span<const Use> uses = residency.uses[t];
    const auto use =
        std::find_if(uses.begin(), uses.end(), [run](const Use& one) { return one.run == run; });
    if (use == uses.begin() || use == uses.end()) continue;
    const auto stretch = static_cast<size_t>(use - uses.begin()) - 1;
    if (residency.evictions[t][stretch] && !IsDropped(residency, t, stretch) &&
        CanRecompute(residency, t, stretch))
      return t;
  }
  return kNone;
}

/// Lowers `residency`, evicting up to `most_leave` further tensors until it fits. Returns false if
/// it is impossible or does not fit.
bool LocalSearch::Fit(Residency* residency, const std::vector<Pin>& pins, int most_leave,
                      Decision* decision, Lifetimes* lives) {
  if (!CheckProgram(graph_, residency->runs).ok()) return false;
  for (;; --most_leave) {
    *decision = Lower(graph_, *residency);
    Result<Lifetimes> found = FindLifetimes(graph_, *decision, residency->uses);
    if (!found.ok()) return false;
    *lives = std::move(found.value());
    const std::vector<int64_t> loads = cost::LiveBytes(*lives, decision->runs.size());
    if (loads.empty() || *std::max_element(loads.begin(), loads.end()) <= capacity_) {
      TimeCopies(graph_, machine_, *residency, capacity_, loads, lives, decision);
      return true;
    }
    if (most_leave == 0 || !EvictOneTensor(loads, pins, residency)) return false;
  }
}

/// Evicts a tensor that the fullest run does not use. Its probability grows with the missing bytes
/// that it has and with the time for which it is not used. Returns false if there is none.
bool LocalSearch::EvictOneTensor(const std::vector<int64_t>& loads, const std::vector<Pin>& pins,
                                 Residency* residency) {
  const auto fullest = std::max_element(loads.begin(), loads.end());
  const auto run = static_cast<RunId>(fullest - loads.begin());
  std::vector<std::pair<size_t, size_t>> idle;  // tensor, index of use
  std::vector<double> chances;
  for (size_t t = 0; t < residency->evictions.size(); ++t) {
    if (residency->evictions[t].empty()) continue;
    const auto uses = residency->uses[t];
    const auto next = std::partition_point(uses.begin(), uses.end(),
                                           [run](const Use& use) { return use.run < run; });
    const bool ends = next == uses.end();
    if (next == uses.begin() || (ends ? !graph_.tensors[t].keep : next->run == run)) continue;
    const auto i = static_cast<size_t>(next - uses.begin()) - 1;
    const auto until = ends ? static_cast<RunId>(loads.size()) : next->run;
    const bool pinned = std::any_of(pins.begin(), pins.end(), [&](const Pin& pin) {
      return pin.tensor == static_cast<TensorId>(t) && pin.after == uses[i].run;
    });
    if (residency->evictions[t][i] || pinned) continue;
    const int64_t bytes = std::min(Aligned(graph_.tensors[t].bytes), *fullest - capacity_);
    idle.emplace_back(t, i);
    chances.push_back(static_cast<double>(bytes) * (until - uses[i].run));
  }
  if (idle.empty()) return false;
  const auto [t, i] = idle[Choose(chances, Fraction())];
  residency->evictions[t][i] =
      MayLeaveInPart(t) && !graph_.tensors[t].keep ? kPartlyEvicted : kEvicted;
  return true;
}

}  // namespace layrub::placement::search
