#include "layrub/placement/strategies/refine.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <utility>

#include "layrub/base/in_parallel.hpp"
#include "layrub/placement/lifetimes.hpp"
#include "layrub/placement/strategies/descent.hpp"
#include "layrub/placement/strategies/outcome.hpp"

namespace layrub {
namespace {

/// Each descent begins with so many parts of the steps, one.
constexpr int64_t kParts = kFewestSteps;
/// What so many of them have found goes on,
constexpr size_t kFound = 4;
/// and so many of their starts are what they take stretches of.
constexpr size_t kMeet = 16;

/// So many drafts are packed at last, each with several parts of the room left free, as that takes
/// fewer Moves.
constexpr size_t kPacked = 8;
constexpr std::array<double, 9> kPartsFree{0, 0.005, 0.01, 0.015, 0.02, 0.03, 0.05, 0.07, 0.1};
/// So many steps of a descent cost as much as one more packing side by side: first of all, then of
/// the best third, at last of the best third of these, with pieces of copies so many times as
/// large.
constexpr std::array<int64_t, 3> kStepsPerPacking{32, 8, 2};
constexpr size_t kGoOn = 3;
constexpr std::array<double, 4> kTimesAsLarge{1, 0.5, 0.7, 1.5};

using Descents = std::vector<std::unique_ptr<Descent>>;

bool IsFaster(const std::unique_ptr<Descent>& a, const std::unique_ptr<Descent>& b) {
  return a->seconds() < b->seconds();
}

/// What the first so many have come to.
std::vector<Draft> Fastest(const Descents& descents, size_t most) {
  std::vector<Draft> drafts;
  for (size_t i = 0; i < std::min(most, descents.size()); ++i)
    drafts.push_back(descents[i]->at().draft);
  return drafts;
}

/// The slower half is given up, again and again, and the others go on for twice as long. The
/// fastest comes first. They take over stretches of what the first `meet` of them begin with.
void GoOn(int64_t steps, size_t meet, Descents* descents) {
  const std::vector<Draft> starts = Fastest(*descents, meet);
  for (size_t left = descents->size(); left > 0; left = left > 1 ? (left + 1) / 2 : 0, steps *= 2) {
    InParallel(left, [&](size_t i) { (*descents)[i]->Go(steps, starts); });
    std::stable_sort(descents->begin(), descents->begin() + static_cast<int64_t>(left), IsFaster);
  }
}

/// What is packed: in how many seconds it ran the last time.
struct Candidate {
  Decision decision;
  Lifetimes lives;
  double seconds = 0;
};

std::vector<Candidate> InPiecesOfSeveralSizes(const std::vector<Candidate>& candidates) {
  std::vector<Candidate> all;
  for (const double times : kTimesAsLarge) {
    for (const Candidate& one : candidates) {
      all.push_back(one);
      int64_t& bytes = all.back().decision.piece_bytes;
      bytes = Aligned(static_cast<int64_t>(times * static_cast<double>(bytes)));
    }
  }
  return all;
}

class Refinement {
 public:
  Refinement(const Graph& graph, const Machine& machine, int64_t bytes, double seconds,
             const TakeFaster& take)
      : graph_(graph),
        machine_(machine),
        bytes_(bytes),
        room_(bytes - PersistentBytes(graph)),
        seconds_(seconds),
        take_(take) {}

  /// First as if tensors left whole; then what is found goes on, twice, and they may leave in part.
  void Run(const std::vector<Draft>& starts, int64_t steps) {
    std::vector<Draft> whole = Descend(starts, steps, false);
    whole.insert(whole.end(), starts.begin(), starts.end());
    for (Draft& draft : whole) LeaveInPart(&draft);
    const std::vector<Draft> found = Descend(whole, steps, true);
    std::vector<Draft> drafts = Descend(found, steps, true);
    drafts.insert(drafts.end(), found.begin(), found.end());
    drafts.resize(std::min(kPacked, drafts.size()));
    Pack(drafts, steps);
  }

 private:
  static void LeaveInPart(Draft* draft) {
    for (size_t t = 0; t < draft->away.size(); ++t) {
      for (Away& away : draft->away[t]) away = away == kAway ? kPartlyAway : away;
    }
  }

  /// The fastest that descents find from `starts`.
  std::vector<Draft> Descend(const std::vector<Draft>& starts, int64_t steps, bool parts) const {
    Descents descents;
    for (const Draft& start : starts) {
      auto descent = std::make_unique<Descent>(graph_, machine_, parts, by_estimate_);
      if (descent->Start(start, bytes_) && std::isfinite(descent->seconds()))
        descents.push_back(std::move(descent));
    }
    GoOn(steps / kParts, parts ? kMeet : 0, &descents);
    return Fastest(descents, kFound);
  }

  void Pack(const std::vector<Draft>& drafts, int64_t steps) {
    std::vector<Candidate> candidates = Candidates(drafts);
    for (const int64_t per_packing : kStepsPerPacking) {
      if (per_packing == kStepsPerPacking.back()) candidates = InPiecesOfSeveralSizes(candidates);
      const auto packings = static_cast<int32_t>(steps / per_packing);
      InParallel(candidates.size(), [&](size_t i) {
        Candidate& one = candidates[i];
        one.seconds =
            PackTimed(graph_, machine_, bytes_, one.lives, seconds_, packings, &one.decision);
      });
      std::stable_sort(
          candidates.begin(), candidates.end(),
          [](const Candidate& a, const Candidate& b) { return a.seconds < b.seconds; });
      if (candidates.empty()) return;
      if (candidates.front().seconds < seconds_) seconds_ = take_(candidates.front().decision);
      candidates.resize((candidates.size() + kGoOn - 1) / kGoOn);
    }
  }

  std::vector<Candidate> Candidates(const std::vector<Draft>& drafts) const {
    std::vector<Candidate> candidates;
    for (const Draft& draft : drafts) {
      for (const double part : kPartsFree) {
        const auto free = static_cast<int64_t>(part * static_cast<double>(room_));
        std::optional<Decision> decision = Settle(graph_, machine_, draft, bytes_ - free);
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
  const int64_t room_;  ///< of them, for what is not persistent
  double seconds_;      ///< to be beaten
  const TakeFaster& take_;
  const Descent::Judge by_estimate_ = [this](const Lifetimes& lives, const Decision& decision) {
    return Estimate(graph_, machine_, bytes_, lives, decision);
  };
};

}  // namespace

void Refine(const Graph& graph, const Machine& machine, int64_t bytes,
            const std::vector<Draft>& starts, int64_t steps, double seconds,
            const TakeFaster& take) {
  if (starts.empty() || steps < kFewestSteps) return;
  Refinement(graph, machine, bytes, seconds, take).Run(starts, steps);
}

}  // namespace layrub
