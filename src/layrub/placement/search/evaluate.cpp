#include "layrub/placement/search/evaluate.hpp"

#include <algorithm>
#include <array>
#include <deque>
#include <span>
#include <tuple>
#include <utility>

#include "layrub/placement/cost/live_bytes.hpp"
#include "layrub/placement/cost/run_starts.hpp"
#include "layrub/placement/ir/load_tree.hpp"
#include "layrub/placement/ir/short_list.hpp"

namespace layrub::placement::search {
namespace {

/// What a copy leaves of a tensor is a multiple of what the link copies in so many latencies,
/// because copies that differ by less take equally long.
constexpr double kUnitLatencies = 0.2;

/// An eviction that may be partial.
struct Part {
  TensorId tensor = kNone;
  Eviction* eviction = nullptr;
};

/// The partial evictions in the order in which they keep bytes: a part that stays for a short time
/// leaves more bytes to others.
std::vector<Part> PartsOf(const Graph& graph, Program* program) {
  std::vector<Part> parts;
  for (size_t t = 0; t < program->tensors.size(); ++t) {
    if (graph.tensors[t].is_state() || graph.tensors[t].keep) continue;
    for (Eviction& eviction : program->tensors[t].evictions) {
      if (eviction.leaves != Leaves::kAll && !eviction.dropped)
        parts.push_back({static_cast<TensorId>(t), &eviction});
    }
  }
  const auto rank = [](const Part& part) {
    return std::tuple(part.eviction->leaves != Leaves::kBarely,
                      part.eviction->before - part.eviction->after);
  };
  std::stable_sort(parts.begin(), parts.end(),
                   [&](const Part& a, const Part& b) { return rank(a) < rank(b); });
  return parts;
}

/// A partly evicted tensor keeps as many bytes on the device as fit during the whole eviction.
void KeepParts(const Graph& graph, const Machine& machine, int64_t capacity,
               std::vector<int64_t>* loads, Program* program) {
  const int64_t unit = std::max(kAlignment, LatencyBytes(machine, kUnitLatencies));
  for (const Part& part : PartsOf(graph, program)) {
    const auto first = loads->begin() + part.eviction->after + 1;
    const auto last = loads->begin() + part.eviction->before;
    if (first == last) continue;
    const int64_t left = capacity - *std::max_element(first, last);
    const int64_t most = graph.tensors[part.tensor].bytes - 1;
    part.eviction->stays = std::max<int64_t>(0, std::min(left, most)) / unit * unit;
    for (auto load = first; load != last; ++load) *load += part.eviction->stays;
  }
}

struct Copy {
  Eviction* eviction = nullptr;
  TensorId tensor = kNone;
  Lane lane = Lane::kLoad;
  int64_t range = 0;  ///< device bytes that the eviction gives back
};

/// The copies of a program, in the order in which they are issued.
struct Copies {
  std::vector<Copy> offloads;
  std::vector<Copy> prefetches;
};

Copies FindCopies(const Graph& graph, const Lifetimes& lives, Program* program) {
  Copies copies;
  const auto end = static_cast<RunId>(program->runs.size());
  auto interval = lives.intervals.begin();
  for (const HostInterval& host : lives.host) {
    const TensorId t = host.tensor;
    const bool file = host.tier == Tier::kFile;
    while (interval != lives.intervals.end() && interval->tensor < t) ++interval;
    for (Eviction& eviction : program->tensors[t].evictions) {
      if (eviction.dropped) continue;
      if (eviction.before != end) {
        copies.prefetches.push_back({&eviction, t, file ? Lane::kFetch : Lane::kLoad,
                                     Aligned(graph.tensors[t].bytes) - eviction.stays});
      }
      if (std::find(host.offloads.begin(), host.offloads.end(), eviction.after) ==
          host.offloads.end())
        continue;
      while (interval->end < eviction.after) ++interval;
      copies.offloads.push_back(
          {&eviction, t, file ? Lane::kSpill : Lane::kSave, interval->bytes - eviction.stays});
    }
  }
  const auto sort_by = [](RunId Eviction::*run, std::vector<Copy>* list) {
    std::stable_sort(list->begin(), list->end(), [run](const Copy& a, const Copy& b) {
      return a.eviction->*run < b.eviction->*run;
    });
  };
  sort_by(&Eviction::after, &copies.offloads);
  sort_by(&Eviction::before, &copies.prefetches);
  return copies;
}

/// By run, the bytes of the ranges that begin there without a copy.
std::vector<int64_t> FreshBytes(const Graph& graph, const Lifetimes& lives, size_t runs) {
  std::vector<int64_t> fresh(runs);
  for (const LiveInterval& interval : lives.intervals) {
    if (interval.on == kNone && interval.begin != kNone && interval.fetched_for == kNone &&
        interval.begin <= interval.end && !IsPart(graph, interval))
      fresh[interval.begin] += interval.bytes;
  }
  return fresh;
}

/// Goes through the runs, and knows when each lane has ended its last copy.
class Evaluator {
 public:
  Evaluator(const Graph& graph, const Machine& machine, int64_t capacity, const Lifetimes& lives,
            std::vector<int64_t> loads, Program* program)
      : graph_(graph),
        machine_(machine),
        capacity_(capacity),
        runs_(program->runs),
        tensors_(program->tensors),
        copies_(FindCopies(graph, lives, program)),
        unstalled_(cost::RunStarts(graph, machine, runs_)),
        loads_(std::move(loads)),
        fresh_(FreshBytes(graph, lives, runs_.size())),
        past_loads_(loads_),
        written_(graph.tensors.size()),
        saved_(graph.tensors.size()) {
    outcome_.starts.reserve(unstalled_.size());
    outcome_.returns.resize(graph.tensors.size());
  }

  Outcome Run() {
    auto offload = copies_.offloads.begin();
    auto prefetch = copies_.prefetches.begin();
    for (RunId r = 0; r < static_cast<RunId>(runs_.size()); ++r) {
      for (; offload != copies_.offloads.end() && offload->eviction->after < r; ++offload)
        Save(*offload);
      const auto first = prefetch;
      while (prefetch != copies_.prefetches.end() && prefetch->eviction->before == r) ++prefetch;
      Prepare(r, {first, prefetch});
      Compute(r);
    }
    for (; offload != copies_.offloads.end(); ++offload) Save(*offload);
    while (!saving_.empty()) Release(static_cast<RunId>(runs_.size()));
    outcome_.starts.push_back(now_);
    outcome_.seconds = now_;
    for (const std::vector<Busy>& lane : busy_)
      outcome_.seconds = std::max(outcome_.seconds, EndOf(lane));
    Postpone();
    return std::move(outcome_);
  }

 private:
  /// A copy that has its times.
  struct Busy {
    TensorId tensor = kNone;
    double begin = 0;
    double end = 0;
  };
  /// A copy to the host that may not have ended.
  struct Saving {
    Copy copy;
    double end = 0;
  };

  static double EndOf(const std::vector<Busy>& lane) { return lane.empty() ? 0 : lane.back().end; }

  /// Puts a copy at the end of its lane; returns when it ends.
  double Issue(const Copy& copy, double earliest) {
    std::vector<Busy>& lane = busy_[Index(copy.lane)];
    const double begin = std::max(earliest, EndOf(lane));
    lane.push_back({copy.tensor, begin, begin + SecondsOf(copy)});
    return lane.back().end;
  }
  double SecondsOf(const Copy& copy) const {
    const int64_t bytes = graph_.tensors[copy.tensor].bytes - copy.eviction->stays;
    return cost::CopySeconds(copy.lane, bytes, machine_);
  }

  /// The next run waits until `end`, when a copy on `lane` ends. The time counts for the copies on
  /// the lane until then.
  void WaitUntil(double end, Lane lane) {
    const std::vector<Busy>& copies = busy_[Index(lane)];
    for (auto copy = copies.rbegin(); copy != copies.rend() && copy->end > now_; ++copy) {
      const double seconds = std::min(copy->end, end) - std::max(copy->begin, now_);
      outcome_.returns[copy->tensor] += std::max(0.0, seconds);
    }
    now_ = std::max(now_, end);
  }

  void Save(const Copy& copy) {
    const double end = Issue(copy, written_[copy.tensor]);
    saved_[copy.tensor] = end;
    const auto later =
        std::upper_bound(saving_.begin(), saving_.end(), end,
                         [](double at, const Saving& other) { return at < other.end; });
    saving_.insert(later, {copy, end});
    held_ += copy.range;
  }

  /// Finds the bytes for run `r` and for `fetches`, what comes back for it, and waits for copies.
  void Prepare(RunId r, std::span<const Copy> fetches) {
    for (const Copy& copy : fetches)
      WaitUntil(saved_[copy.tensor], copy.lane == Lane::kFetch ? Lane::kSpill : Lane::kSave);
    while (!saving_.empty() && saving_.front().end <= now_) Release(r);
    const double idle = now_;
    int64_t free = capacity_ - loads_[r] + fresh_[r] - held_;
    std::vector<std::pair<double, Lane>> ends;
    for (const Copy& copy : fetches) {
      if (IssueEarly(copy, r))
        ends.emplace_back(EndOf(busy_[Index(copy.lane)]), copy.lane);
      else
        free += copy.range;
    }
    for (const Copy& copy : fetches) {
      if (copy.eviction->prefetch < r) continue;
      const double issued = std::max(idle, Take(r, copy.range, &free));
      ends.emplace_back(Issue(copy, issued), copy.lane);
    }
    Take(r, fresh_[r], &free);
    for (const auto& [end, lane] : ends) WaitUntil(end, lane);
    if (held_ > 0) past_loads_.Add(r, r + 1, held_);
  }

  /// Gives back, before run `r`, the range whose copy to the host ends first.
  void Release(RunId r) {
    const Copy& copy = saving_.front().copy;
    copy.eviction->release = r - 1;
    held_ -= copy.range;
    saving_.pop_front();
  }

  /// Takes `bytes` of the `free` ones for run `r`. If there are too few, it waits for copies to the
  /// host. Returns when the last of these ends, or 0.
  double Take(RunId r, int64_t bytes, int64_t* free) {
    double end = 0;
    while (!saving_.empty() && *free < bytes) {
      const auto& [copy, copied] = saving_.front();
      end = copied;
      WaitUntil(end, copy.lane);
      *free += copy.range;
      Release(r);
    }
    *free -= bytes;
    return end;
  }

  /// Issues a copy back for run `r` once its lane is idle, if its bytes are free from then on.
  bool IssueEarly(const Copy& copy, RunId r) {
    Eviction& eviction = *copy.eviction;
    const std::vector<double>& starts = outcome_.starts;
    const auto next =
        std::upper_bound(starts.begin(), starts.end(), EndOf(busy_[Index(copy.lane)]));
    const RunId first =
        std::max(eviction.release + 1, static_cast<RunId>(next - starts.begin()) - 1);
    if (first >= r) return false;
    const RunId full = past_loads_.LastAbove(first, r, capacity_ - copy.range);
    eviction.prefetch = full == kNone ? first : full + 1;
    if (eviction.prefetch == r) return false;
    past_loads_.Add(eviction.prefetch, r, copy.range);
    Issue(copy, starts[eviction.prefetch]);
    return true;
  }

  /// Issues each copy back as late as possible without delaying anything: a range that is taken
  /// later is easier to pack.
  void Postpone() {
    const std::vector<double>& starts = outcome_.starts;
    std::array<double, kLanes> next;  // by lane, when its next copy has to begin
    next.fill(kNever);
    for (auto copy = copies_.prefetches.rbegin(); copy != copies_.prefetches.rend(); ++copy) {
      Eviction& eviction = *copy->eviction;
      double& begin = next[Index(copy->lane)];
      begin = std::min(begin, starts[eviction.before]) - SecondsOf(*copy);
      const auto later = std::upper_bound(starts.begin(), starts.end(), begin) - starts.begin();
      const RunId run = std::min(eviction.before, static_cast<RunId>(later) - 1);
      eviction.prefetch = std::max(eviction.prefetch, run);
    }
  }

  void Compute(RunId r) {
    const placement::Run& run = runs_[r];
    const Variant& variant = VariantOf(graph_, run);
    outcome_.starts.push_back(now_);
    const double seconds = unstalled_[r + 1] - unstalled_[r];
    now_ += seconds;
    for (const TensorId t : variant.reads) {
      if (tensors_[t].home != StateHome::kInPlace) continue;
      const auto bytes = static_cast<double>(graph_.tensors[t].bytes);
      now_ += bytes / machine_.link_up + bytes / machine_.link_down;
    }
    for (const TensorId t : variant.writes) {
      written_[t] = now_;
      if (run.recompute) outcome_.returns[t] += seconds;
    }
  }

  const Graph& graph_;
  const Machine& machine_;
  const int64_t capacity_;
  const std::vector<placement::Run>& runs_;
  const std::vector<TensorProgram>& tensors_;
  const Copies copies_;
  const std::vector<double> unstalled_;  ///< see cost::RunStarts
  const std::vector<int64_t> loads_;     ///< by run; without what this class adds
  const std::vector<int64_t> fresh_;     ///< see FreshBytes
  LoadTree past_loads_;                  ///< by run, right for those before the next
  std::vector<double> written_;          ///< by tensor: when it was written last
  std::array<std::vector<Busy>, kLanes> busy_;
  std::vector<double> saved_;  ///< by tensor: when its last copy to the host ends
  std::deque<Saving> saving_;  ///< in the order in which they end; their ranges are held
  int64_t held_ = 0;           ///< bytes of these
  double now_ = 0;             ///< when the run before the next has ended and its copies are there
  Outcome outcome_;
};

}  // namespace

Program WithoutTimes(Program program) {
  for (TensorProgram& tensor : program.tensors) {
    for (Eviction& eviction : tensor.evictions) {
      if (eviction.dropped) continue;
      eviction.release = eviction.after;
      eviction.prefetch = eviction.before;
    }
  }
  return program;
}

Outcome Evaluate(const Graph& graph, const Machine& machine, int64_t capacity,
                 const Lifetimes& lives, std::vector<int64_t> loads, Program* program) {
  return Evaluator(graph, machine, capacity, lives, std::move(loads), program).Run();
}

Timed LowerInTime(const Graph& graph, const Machine& machine, int64_t capacity,
                  const Lifetimes& lives, std::vector<int64_t> loads, Program program) {
  KeepParts(graph, machine, capacity, &loads, &program);
  Outcome outcome = Evaluate(graph, machine, capacity, lives, std::move(loads), &program);
  return {std::move(program), std::move(outcome)};
}

std::optional<Timed> LowerInTime(const Graph& graph, const Machine& machine, const Draft& draft,
                                 int64_t capacity, int64_t host_bytes) {
  Program program = Lower(graph, draft);
  const Result<Lifetimes> lives = FindLifetimes(graph, program, draft.uses, host_bytes);
  if (!lives.ok()) return std::nullopt;
  std::vector<int64_t> loads = cost::LiveBytes(lives.value(), program.runs.size());
  return LowerInTime(graph, machine, capacity, lives.value(), std::move(loads), std::move(program));
}

int64_t LatencyBytes(const Machine& machine, double latencies) {
  return Aligned(static_cast<int64_t>(latencies * machine.latency * machine.link_up));
}

}  // namespace layrub::placement::search
