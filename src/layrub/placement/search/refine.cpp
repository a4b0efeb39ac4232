#include "layrub/placement/search/refine.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <utility>

#include "layrub/base/in_parallel.hpp"
#include "layrub/placement/cost/floor.hpp"
#include "layrub/placement/ir/lifetimes.hpp"
#include "layrub/placement/search/estimate.hpp"
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

/// The residencies that the first `most` searches have found.
std::vector<Residency> Fastest(const LocalSearches& searches, size_t most) {
  std::vector<Residency> residencies;
  for (size_t i = 0; i < std::min(most, searches.size()); ++i)
    residencies.push_back(searches[i]->at().residency);
  return residencies;
}

/// Gives up the slower half again and again; the others go on for twice as long. The fastest comes
/// first in the end.
void HalveSuccessively(int64_t steps, LocalSearches* searches) {
  for (size_t left = searches->size(); left > 0; left = left > 1 ? (left + 1) / 2 : 0, steps *= 2) {
    InParallel(left, [&](size_t i) { (*searches)[i]->Go(steps); });
    std::stable_sort(searches->begin(), searches->begin() + static_cast<int64_t>(left), IsFaster);
  }
}

/// A decision to pack, and its seconds once it is packed.
struct Candidate {
  Decision decision;
  Lifetimes lives;
  double seconds = 0;
};

class Refinement {
 public:
  /// `capacity`: the part of `bytes` beside state at home on the device.
  Refinement(const Graph& graph, const Machine& machine, int64_t bytes, int64_t capacity,
             double seconds, const SearchOptions& options)
      : graph_(graph),
        machine_(machine),
        bytes_(bytes),
        capacity_(capacity),
        seconds_(seconds),
        options_(options) {}

  /// First evicts tensors wholly, then goes on from the results with partial evictions.
  std::optional<Decision> Run(const std::vector<Residency>& starts, int64_t steps) {
    std::vector<Residency> found = SearchFrom(starts, steps, false);
    if (!options_.partial_eviction) return Pack(found);
    found.insert(found.end(), starts.begin(), starts.end());
    for (Residency& residency : found) LeaveInPart(&residency);
    return Pack(SearchFrom(found, steps, true));
  }

 private:
  static void LeaveInPart(Residency* residency) {
    for (size_t t = 0; t < residency->evictions.size(); ++t) {
      for (EvictionKind& away : residency->evictions[t])
        away = away == kEvicted ? kPartlyEvicted : away;
    }
  }

  /// The fastest residencies found from `starts`.
  std::vector<Residency> SearchFrom(const std::vector<Residency>& starts, int64_t steps,
                                    bool parts) const {
    LocalSearches searches;
    for (const Residency& start : starts) {
      auto search = std::make_unique<LocalSearch>(graph_, machine_, parts, by_estimate_);
      if (search->Start(start, bytes_, options_.seed) && std::isfinite(search->seconds()))
        searches.push_back(std::move(search));
    }
    std::stable_sort(searches.begin(), searches.end(), IsFaster);
    searches.resize(std::min(kStarts, searches.size()));
    HalveSuccessively(steps / kParts, &searches);
    return Fastest(searches, kFound);
  }

  std::optional<Decision> Pack(const std::vector<Residency>& residencies) const {
    std::vector<Candidate> candidates = Candidates(residencies);
    InParallel(candidates.size(), [&](size_t i) {
      Candidate& one = candidates[i];
      one.seconds = PackTimed(graph_, machine_, bytes_, one.lives, seconds_, &one.decision);
    });
    const auto fastest = std::min_element(
        candidates.begin(), candidates.end(),
        [](const Candidate& a, const Candidate& b) { return a.seconds < b.seconds; });
    if (fastest == candidates.end() || fastest->seconds >= seconds_) return std::nullopt;
    return std::move(fastest->decision);
  }

  std::vector<Candidate> Candidates(const std::vector<Residency>& residencies) const {
    std::vector<Candidate> candidates;
    for (const Residency& residency : residencies) {
      for (const double part : kPartsFree) {
        if (part > 0 && !options_.slack) continue;
        const auto free = static_cast<int64_t>(part * static_cast<double>(capacity_));
        std::optional<Decision> decision = LowerInTime(graph_, machine_, residency, bytes_ - free);
        if (!decision) continue;
        Lifetimes lives = FindLifetimes(graph_, *decision).value();
        candidates.push_back({std::move(*decision), std::move(lives), 0});
      }
    }
    return candidates;
  }

  const Graph& graph_;
  const Machine& machine_;
  const int64_t bytes_;
  const int64_t capacity_;
  const double seconds_;  ///< to be beaten
  const SearchOptions options_;
  const LocalSearch::Judge by_estimate_ = [this](const Lifetimes& lives, const Decision& decision) {
    return Estimate(graph_, machine_, bytes_, lives, decision);
  };
};

}  // namespace

std::optional<Decision> Refine(const Graph& graph, const Machine& machine, int64_t bytes,
                               const std::vector<Residency>& starts, int64_t steps, double seconds,
                               const SearchOptions& options) {
  if (starts.empty() || steps < kFewestSteps) return std::nullopt;
  const int64_t capacity = bytes - cost::ResidentBytes(graph, starts.front().homes);
  return Refinement(graph, machine, bytes, capacity, seconds, options).Run(starts, steps);
}

}  // namespace layrub::placement::search
