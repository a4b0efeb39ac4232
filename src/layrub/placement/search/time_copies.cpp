#include "layrub/placement/search/time_copies.hpp"

#include <algorithm>
#include <limits>
#include <tuple>
#include <utility>

#include "layrub/placement/cost/live_bytes.hpp"
#include "layrub/placement/cost/run_starts.hpp"
#include "layrub/placement/ir/load_tree.hpp"

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
  Eviction* eviction;
  TensorId tensor;
  int64_t range = 0;  ///< device bytes that the eviction gives back
};

/// The copies to the host, in the order in which they are issued.
std::vector<Copy> OffloadCopies(const Lifetimes& lives, Program* program) {
  std::vector<Copy> copies;
  for (const LiveInterval& interval : lives.intervals) {
    for (Eviction& eviction : program->tensors[interval.tensor].evictions) {
      if (eviction.dropped || eviction.after < interval.begin || interval.end < eviction.after)
        continue;
      const ShortList<RunId>& offloads = FindHostInterval(lives, interval.tensor)->offloads;
      if (std::find(offloads.begin(), offloads.end(), eviction.after) != offloads.end())
        copies.push_back({&eviction, interval.tensor, interval.bytes - eviction.stays});
    }
  }
  std::stable_sort(copies.begin(), copies.end(), [](const Copy& a, const Copy& b) {
    return a.eviction->after < b.eviction->after;
  });
  return copies;
}

/// The prefetches, in the order in which they are needed.
std::vector<Copy> PrefetchCopies(Program* program) {
  std::vector<Copy> copies;
  const auto end = static_cast<RunId>(program->runs.size());
  for (size_t t = 0; t < program->tensors.size(); ++t) {
    for (Eviction& eviction : program->tensors[t].evictions) {
      if (!eviction.dropped && eviction.before != end)
        copies.push_back({&eviction, static_cast<TensorId>(t), 0});
    }
  }
  std::stable_sort(copies.begin(), copies.end(), [](const Copy& a, const Copy& b) {
    return a.eviction->before < b.eviction->before;
  });
  return copies;
}

/// For each prefetch, the latest run before which it may be issued so that this and all later ones
/// end in time.
std::vector<RunId> Wanted(const Graph& graph, const Machine& machine,
                          const std::vector<double>& starts, const std::vector<Copy>& copies) {
  std::vector<RunId> wanted(copies.size());
  double link_free = std::numeric_limits<double>::max();
  for (size_t i = copies.size(); i-- > 0;) {
    const int64_t bytes = graph.tensors[copies[i].tensor].bytes - copies[i].eviction->stays;
    link_free = std::min(link_free, starts[copies[i].eviction->before]) -
                cost::CopySeconds(Lane::kLoad, bytes, machine);
    const auto later = std::upper_bound(starts.begin(), starts.end(), link_free);
    wanted[i] = std::max<RunId>(0, static_cast<RunId>(later - starts.begin()) - 1);
  }
  return wanted;
}

}  // namespace

int64_t LatencyBytes(const Machine& machine, double latencies) {
  return Aligned(static_cast<int64_t>(latencies * machine.latency * machine.link_up));
}

void HoldSaves(const Graph& graph, const Machine& machine, int64_t capacity, const Lifetimes& lives,
               std::vector<int64_t>* loads, Program* program) {
  const std::vector<double> starts = cost::RunStarts(graph, machine, program->runs);
  double link_free = 0;
  for (const Copy& copy : OffloadCopies(lives, program)) {
    Eviction& eviction = *copy.eviction;
    const int64_t bytes = graph.tensors[copy.tensor].bytes - eviction.stays;
    link_free = std::max(link_free, starts[eviction.after + 1]) +
                cost::CopySeconds(Lane::kSave, bytes, machine);
    for (RunId next = eviction.release + 1; next < eviction.prefetch && starts[next] < link_free;
         ++next) {
      if ((*loads)[next] + copy.range > capacity) break;
      (*loads)[next] += copy.range;
      eviction.release = next;
    }
  }
}

void FetchEarly(const Graph& graph, const Machine& machine, int64_t capacity,
                const std::vector<int64_t>& run_loads, Program* program) {
  const std::vector<Copy> copies = PrefetchCopies(program);
  const std::vector<RunId> wanted =
      Wanted(graph, machine, cost::RunStarts(graph, machine, program->runs), copies);
  LoadTree loads(run_loads);
  for (size_t i = 0; i < copies.size(); ++i) {
    Eviction& eviction = *copies[i].eviction;
    const int64_t bytes = Aligned(graph.tensors[copies[i].tensor].bytes) - eviction.stays;
    const RunId latest = eviction.prefetch;
    const RunId first = std::max(wanted[i], eviction.release + 1);
    if (first >= latest) continue;
    const RunId full = loads.LastAbove(first, latest, capacity - bytes);
    eviction.prefetch = full == kNone ? first : full + 1;
    loads.Add(eviction.prefetch, latest, bytes);
  }
}

void TimeCopies(const Graph& graph, const Machine& machine, int64_t capacity,
                const Lifetimes& lives, std::vector<int64_t> loads, Program* program) {
  KeepParts(graph, machine, capacity, &loads, program);
  HoldSaves(graph, machine, capacity, lives, &loads, program);
  FetchEarly(graph, machine, capacity, loads, program);
}

std::optional<Program> LowerInTime(const Graph& graph, const Machine& machine, const Draft& draft,
                                   int64_t capacity) {
  Program program = Lower(graph, draft);
  const Result<Lifetimes> lives = FindLifetimes(graph, program, draft.uses);
  if (!lives.ok()) return std::nullopt;
  std::vector<int64_t> loads = cost::LiveBytes(lives.value(), program.runs.size());
  TimeCopies(graph, machine, capacity, lives.value(), std::move(loads), &program);
  return program;
}

}  // namespace layrub::placement::search
