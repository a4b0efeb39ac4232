#include "layrub/placement/search/time_copies.hpp"

#include <algorithm>
#include <limits>

#include "layrub/placement/cost/run_starts.hpp"
#include "layrub/placement/ir/load_tree.hpp"

namespace layrub::placement::search {
namespace {

struct Copy {
  Gap* gap;
  TensorId tensor;
  int64_t range = 0;  ///< bytes of the device that the tensor gives back
};

/// In the order in which they are issued.
std::vector<Copy> CopiesAway(const UseLists& uses, const Lifetimes& lives, Decision* decision) {
  std::vector<Copy> copies;
  const auto end = static_cast<RunId>(decision->runs.size());
  for (size_t r = 0; r < lives.residences.size();) {
    const TensorId t = lives.residences[r].tensor;
    ShortList<Gap>& gaps = decision->tensors[t].gaps;
    for (size_t i = 0; i < gaps.size(); ++i) {
      if (gaps[i].after == kNone) continue;  // nothing before it
      if (Saves(uses[t], decision->runs, gaps, i))
        copies.push_back({&gaps[i], t, lives.residences[r].bytes - gaps[i].stays});
      r += gaps[i].stays > 0 ? 2 : 1;
    }
    if (gaps.empty() || gaps.back().before != end) ++r;
  }
  std::stable_sort(copies.begin(), copies.end(),
                   [](const Copy& a, const Copy& b) { return a.gap->after < b.gap->after; });
  return copies;
}

/// In order of their use.
std::vector<Copy> CopiesBack(Decision* decision) {
  std::vector<Copy> copies;
  const auto end = static_cast<RunId>(decision->runs.size());
  for (size_t t = 0; t < decision->tensors.size(); ++t) {
    for (Gap& gap : decision->tensors[t].gaps) {
      if (!gap.dropped && gap.before != end) copies.push_back({&gap, static_cast<TensorId>(t), 0});
    }
  }
  std::stable_sort(copies.begin(), copies.end(),
                   [](const Copy& a, const Copy& b) { return a.gap->before < b.gap->before; });
  return copies;
}

/// For each copy the latest run before which it may be issued so that this and all later ones are
/// there in time.
std::vector<RunId> Wanted(const Graph& graph, const Machine& machine,
                          const std::vector<double>& starts, const std::vector<Copy>& copies) {
  std::vector<RunId> wanted(copies.size());
  double link_free = std::numeric_limits<double>::max();
  for (size_t i = copies.size(); i-- > 0;) {
    const auto bytes =
        static_cast<double>(graph.tensors[copies[i].tensor].bytes - copies[i].gap->stays);
    link_free = std::min(link_free, starts[copies[i].gap->before]) -
                (bytes / machine.link_up + machine.latency);
    const auto later = std::upper_bound(starts.begin(), starts.end(), link_free);
    wanted[i] = std::max<RunId>(0, static_cast<RunId>(later - starts.begin()) - 1);
  }
  return wanted;
}

}  // namespace

bool Saves(std::span<const Use> uses, const std::vector<Run>& runs, const ShortList<Gap>& gaps,
           size_t gap) {
  if (gaps[gap].dropped || gaps[gap].after == kNone) return false;
  size_t before = gap;
  while (before > 0 && gaps[before - 1].dropped) --before;
  if (before == 0) return true;
  const RunId saved = gaps[before - 1].after;
  return std::any_of(uses.begin(), uses.end(), [&](const Use& use) {
    return use.writes && !runs[use.run].recompute && use.run > saved && use.run <= gaps[gap].after;
  });
}

void HoldSaves(const Graph& graph, const Machine& machine, int64_t room, const UseLists& uses,
               const Lifetimes& lives, std::vector<int64_t>* loads, Decision* decision) {
  const std::vector<double> starts = cost::RunStarts(graph, machine, decision->runs);
  double link_free = 0;
  for (const Copy& copy : CopiesAway(uses, lives, decision)) {
    Gap& gap = *copy.gap;
    const auto bytes = static_cast<double>(graph.tensors[copy.tensor].bytes - gap.stays);
    link_free =
        std::max(link_free, starts[gap.after + 1]) + bytes / machine.link_down + machine.latency;
    for (RunId next = gap.release + 1; next < gap.prefetch && starts[next] < link_free; ++next) {
      if ((*loads)[next] + copy.range > room) break;
      (*loads)[next] += copy.range;
      gap.release = next;
    }
  }
}

void FetchEarly(const Graph& graph, const Machine& machine, int64_t room,
                const std::vector<int64_t>& run_loads, Decision* decision) {
  const std::vector<Copy> copies = CopiesBack(decision);
  const std::vector<RunId> wanted =
      Wanted(graph, machine, cost::RunStarts(graph, machine, decision->runs), copies);
  LoadTree loads(run_loads);
  for (size_t i = 0; i < copies.size(); ++i) {
    Gap& gap = *copies[i].gap;
    const int64_t bytes = Aligned(graph.tensors[copies[i].tensor].bytes) - gap.stays;
    const RunId latest = gap.prefetch;
    const RunId first = std::max(wanted[i], gap.release + 1);
    if (first >= latest) continue;
    const RunId full = loads.LastAbove(first, latest, room - bytes);
    gap.prefetch = full == kNone ? first : full + 1;
    loads.Add(gap.prefetch, latest, bytes);
  }
}

}  // namespace layrub::placement::search
