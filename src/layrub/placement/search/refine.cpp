#include "layrub/placement/search/refine.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <utility>

#include "layrub/base/in_parallel.hpp"
#include "layrub/placement/ir/lifetimes.hpp"
#include "layrub/placement/search/evaluate.hpp"
#include "layrub/placement/search/local_search.hpp"

namespace layrub::placement::search {
namespace {

/// Steps are divided into so many parts; each search begins with one part.
constexpr int64_t kParts = kFewestSteps;
/// The fastest kStarts starts are searched from, and the fastest kFound results go on.
constexpr size_t kStarts = 8;
constexpr size_t kFound = 4;

/// Each result is packed with these parts of the capacity left free, because that takes fewer
/// Moves.
constexpr std::array<double, 5> kPartsFree{0, 0.01, 0.02, 0.035, 0.06};

using LocalSearches = std::vector<std::unique_ptr<LocalSearch>>;

bool IsFaster(const std::unique_ptr<LocalSearch>& a, const std::unique_ptr<LocalSearch>& b) {
  return a->seconds() < b->seconds();
}

/// The drafts that the first `most` searches have found.
std::vector<Draft> Fastest(const LocalSearches& searches, size_t most) {
  std::vector<Draft> drafts;
  for (size_t i = 0; i < std::min(most, searches.size()); ++i)
    drafts.push_back(searches[i]->at().draft);
  return drafts;
}

/// Gives up the slower half again and again; the others go on for twice as long. The fastest comes
/// first in the end.
void HalveSuccessively(int64_t steps, LocalSearches* searches) {
  for (size_t left = searches->size(); left > 0; left = left > 1 ? (left + 1) / 2 : 0, steps *= 2) {
    InParallel(left, [&](size_t i) { (*searches)[i]->Go(steps); });
    std::stable_sort(searches->begin(), searches->begin() + static_cast<int64_t>(left), IsFaster);
  }
}

class Refinement {
 public:
  /// `capacity`: the part of `room.device` beside state at home there.
  Refinement(const Graph& graph, const Machine& machine, const Room& room, int64_t capacity,
             double seconds, const SearchOptions& options)
      : graph_(graph),
        machine_(machine),
        room_(room),
        capacity_(capacity),
        seconds_(seconds),
        options_(options) {}

  /// First evicts tensors wholly, then goes on from the results with partial evictions.
  std::optional<Packed> Run(const std::vector<Draft>& starts, int64_t steps) {
    std::vector<Draft> found = SearchFrom(starts, steps, false);
    if (!options_.partial_eviction) return PackFastest(found);
    found.insert(found.end(), starts.begin(), starts.end());
    for (Draft& draft : found) LeaveInPart(&draft.program);
    return PackFastest(SearchFrom(found, steps, true));
  }

 private:
  static void LeaveInPart(Program* program) {
    for (TensorProgram& tensor : program->tensors) {
      for (Eviction& eviction : tensor.evictions)
        eviction.leaves = eviction.leaves == Leaves::kAll ? Leaves::kPart : eviction.leaves;
    }
  }

  /// The fastest drafts found from `starts`.
  std::vector<Draft> SearchFrom(const std::vector<Draft>& starts, int64_t steps, bool parts) const {
    LocalSearches searches;
    for (const Draft& start : starts) {
      auto search = std::make_unique<LocalSearch>(graph_, machine_, parts, room_.host);
      if (search->Start(start, room_.device, options_.seed)) searches.push_back(std::move(search));
    }
    std::stable_sort(searches.begin(), searches.end(), IsFaster);
    searches.resize(std::min(kStarts, searches.size()));
    HalveSuccessively(steps / kParts, &searches);
    return Fastest(searches, kFound);
  }

  std::optional<Packed> PackFastest(const std::vector<Draft>& drafts) const {
    std::vector<std::pair<const Draft*, double>> tries;
    for (const Draft& draft : drafts) {
      for (const double part : kPartsFree) {
        if (part == 0 || options_.slack) tries.emplace_back(&draft, part);
      }
    }
    std::vector<Packed> packed(tries.size());
    InParallel(tries.size(), [&](size_t i) { packed[i] = Pack(*tries[i].first, tries[i].second); });
    const auto fastest =
        std::min_element(packed.begin(), packed.end(),
                         [](const Packed& a, const Packed& b) { return a.seconds < b.seconds; });
    if (fastest == packed.end() || fastest->seconds >= seconds_) return std::nullopt;
    return std::move(*fastest);
  }

  /// Packs the draft, lowered so that this part of the capacity is left free.
  Packed Pack(const Draft& draft, double part_free) const {
    const auto free = static_cast<int64_t>(part_free * static_cast<double>(capacity_));
    std::optional<Timed> timed =
        LowerInTime(graph_, machine_, draft, room_.device - free, room_.host);
    if (!timed || timed->outcome.seconds > seconds_) return {};
    const Lifetimes lives = FindLifetimes(graph_, timed->program, room_.host).value();
    return PackTimed(graph_, machine_, room_, lives, std::move(timed->program),
                     timed->outcome.starts);
  }

  const Graph& graph_;
  const Machine& machine_;
  const Room room_;
  const int64_t capacity_;
  const double seconds_;  ///< to be beaten
  const SearchOptions options_;
};

}  // namespace

std::optional<Packed> Refine(const Graph& graph, const Machine& machine, const Room& room,
                             const std::vector<Draft>& starts, int64_t steps, double seconds,
                             const SearchOptions& options) {
  if (starts.empty() || steps < kFewestSteps) return std::nullopt;
  int64_t capacity = room.device;
  for (size_t t = 0; t < graph.tensors.size(); ++t) {
    if (IsResident(graph.tensors[t], starts.front().program.tensors[t].home))
      capacity -= Aligned(graph.tensors[t].bytes);
  }
  return Refinement(graph, machine, room, capacity, seconds, options).Run(starts, steps);
}

}  // namespace layrub::placement::search
