#include "layrub/placement/ir/spill.hpp"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <numeric>
#include <vector>

#include "layrub/placement/ir/load_tree.hpp"

namespace layrub::placement {
namespace {

/// The runs [begin, end) during which a HostInterval occupies memory, and how many copies it needs.
struct Taken {
  RunId begin = 0;
  RunId end = 0;
  int64_t bytes = 0;
  double copies = 0;
};

Taken TakenBy(const Graph& graph, const Program& program, const HostInterval& stay) {
  const auto run_count = static_cast<RunId>(program.runs.size());
  Taken taken{stay.home ? 0 : stay.offloads.front(), std::min(stay.end + 1, run_count),
              Aligned(graph.tensors[stay.tensor].bytes), static_cast<double>(stay.offloads.size())};
  for (const Eviction& eviction : program.tensors[stay.tensor].evictions) {
    if (!eviction.dropped && eviction.before != run_count) ++taken.copies;
  }
  return taken;
}

}  // namespace

void SpillIntervals(const Graph& graph, const Program& program, int64_t host_bytes,
                    Lifetimes* lives) {
  int64_t all = 0;
  for (HostInterval& stay : lives->host) {
    stay.tier = Tier::kHost;
    all += Aligned(graph.tensors[stay.tensor].bytes);
  }
  if (all <= host_bytes) return;
  std::vector<Taken> taken;
  for (const HostInterval& stay : lives->host) taken.push_back(TakenBy(graph, program, stay));
  std::vector<size_t> order(taken.size());
  std::iota(order.begin(), order.end(), size_t{0});
  const auto in_place = [&](size_t i) {
    return program.tensors[lives->host[i].tensor].home == StateHome::kInPlace;
  };
  const auto worth = [&](size_t i) {
    return in_place(i) ? std::numeric_limits<double>::infinity()
                       : taken[i].copies / std::max(1, taken[i].end - taken[i].begin);
  };
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return worth(a) > worth(b); });
  LoadTree load(std::vector<int64_t>(program.runs.size()));
  for (const size_t i : order) {
    const auto& [begin, end, bytes, copies] = taken[i];
    const bool fits = in_place(i) || (bytes <= host_bytes &&
                                      load.LastAbove(begin, end, host_bytes - bytes) == kNone);
    if (fits) load.Add(begin, end, bytes);
    lives->host[i].tier = fits ? Tier::kHost : Tier::kFile;
  }
}

}  // namespace layrub::placement
