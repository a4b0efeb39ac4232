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
/// So many begin, the fastest; what so many of them have found goes on.
constexpr size_t kStarts = 8;
constexpr size_t kFound = 4;

/// Each of these is packed with several parts of the room left free, as that takes
/// fewer Moves.
constexpr std::array<double, 5> kPartsFree{0, 0.01, 0.02, 0.035, 0.06};

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
/// fastest comes first.
void GoOn(int64_t steps, Descents* descents) {
  for (size_t left = descents->size(); left > 0; left = left > 1 ? (left + 1) / 2 : 0, steps *= 2) {
    InParallel(left, [&](size_t i) { (*descents)[i]->Go(steps); });
    std::stable_sort(descents->begin(), descents->begin() + static_cast<int64_t>(left), IsFaster);
  }
}

/// What is packed: in how many seconds it ran the last time.
struct Candidate {
  Decision decision;
  Lifetimes lives;
  double seconds = 0;
};

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

  /// First as if tensors left whole; then what is found goes on, and they may leave in part.
  void Run(const std::vector<Draft>& starts, int64_t steps) {
    std::vector<Draft> whole = Descend(starts, steps, false);
    whole.insert(whole.end(), starts.begin(), starts.end());
    for (Draft& draft : whole) LeaveInPart(&draft);
    Pack(Descend(whole, steps, true));
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
    std::stable_sort(descents.begin(), descents.end(), IsFaster);
    descents.resize(std::min(kStarts, descents.size()));
    GoOn(steps / kParts, &descents);
    return Fastest(descents, kFound);
  }

  void Pack(const std::vector<Draft>& drafts) {
    std::vector<Candidate> candidates = Candidates(drafts);
    InParallel(candidates.size(), [&](size_t i) {
      Candidate& one = candidates[i];
      one.seconds = PackTimed(graph_, machine_, bytes_, one.lives, seconds_, &one.decision);
    });
    const auto fastest = std::min_element(
        candidates.begin(), candidates.end(),
        [](const Candidate& a, const Candidate& b) { return a.seconds < b.seconds; });
    if (fastest != candidates.end() && fastest->seconds < seconds_) take_(fastest->decision);
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
  const int64_t room_;    ///< of them, for what is not persistent
  const double seconds_;  ///< to be beaten
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
