#include "layrub/placement/strategies/refine.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <memory>
#include <utility>

#include "layrub/base/in_parallel.hpp"
#include "layrub/placement/lifetimes.hpp"
#include "layrub/placement/strategies/descent.hpp"
#include "layrub/placement/strategies/outcome.hpp"

namespace layrub {
namespace {

/// Each descent by estimates begins with so many parts of the steps, one; each by packings, too.
constexpr int64_t kParts = kFewestSteps;
constexpr int64_t kPackedParts = 9;
/// What so many descents have found goes on by its packing, each in several parts of the room: what
/// leaves some bytes free waits less. So many of these descents begin at most, and what so many of
/// them find goes on the next time.
constexpr size_t kFound = 4;
constexpr std::array<double, 6> kPartsFree{0, 0.01, 0.02, 0.03, 0.05, 0.07};
constexpr size_t kPackedDescents = 8;
constexpr size_t kPacked = 2;
/// So many of their starts are what descents take stretches of.
constexpr size_t kMeet = 16;
/// At last, pieces of copies are made so many times as large.
constexpr std::array<double, 4> kTimesAsLarge{1, 0.5, 0.7, 1.5};

using Descents = std::vector<std::unique_ptr<Descent>>;

bool IsFaster(const std::unique_ptr<Descent>& a, const std::unique_ptr<Descent>& b) {
  return a->seconds() < b->seconds();
}

/// Of those that begin now: the same draft came in twice.
bool IsAsFast(const std::unique_ptr<Descent>& a, const std::unique_ptr<Descent>& b) {
  return a->seconds() == b->seconds();
}

/// What the first so many have come to.
std::vector<Draft> Fastest(const Descents& descents, size_t most) {
  std::vector<Draft> drafts;
  for (size_t i = 0; i < std::min(most, descents.size()); ++i)
    drafts.push_back(descents[i]->way().back().draft);
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
    packed_ = {starts.front()};
    std::vector<Draft> found = Descend(starts, steps, false);
    found.insert(found.end(), starts.begin(), starts.end());
    for (Draft& draft : found) LeaveInPart(&draft);
    found = Descend(found, steps, true);
    found.insert(found.end(), packed_.begin(), packed_.end());
    Descend(found, steps, true);
  }

 private:
  static void LeaveInPart(Draft* draft) {
    for (size_t t = 0; t < draft->away.size(); ++t) {
      for (Away& away : draft->away[t]) away = away == kAway ? kPartlyAway : away;
    }
  }

  /// Descends from `starts` by estimates; from the fastest of what these find, which is returned,
  /// and from packed_ by packings; the fastest of these become packed_.
  std::vector<Draft> Descend(const std::vector<Draft>& starts, int64_t steps, bool parts) {
    const size_t meet = parts ? kMeet : 0;
    Descents roughly;
    for (const Draft& start : starts) Start(start, bytes_, parts, by_estimate_, &roughly);
    GoOn(steps / kParts, meet, &roughly);
    const std::vector<Draft> found = Fastest(roughly, kFound);
    Descents packed;
    for (const Draft& draft : found) StartPacked(draft, parts, &packed);
    for (const Draft& draft : packed_) StartPacked(draft, parts, &packed);
    std::stable_sort(packed.begin(), packed.end(), IsFaster);
    packed.erase(std::unique(packed.begin(), packed.end(), IsAsFast), packed.end());
    packed.resize(std::min(kPackedDescents, packed.size()));
    GoOn(steps / kPackedParts, meet, &packed);
    packed_ = Fastest(packed, kPacked);
    for (const auto& descent : packed) {
      for (const double part : kPartsFree) TakeInPieces(descent->way().back().draft, part);
    }
    return found;
  }

  /// In several parts of the room; if `parts`, in the one of these in which it is the fastest.
  void StartPacked(const Draft& draft, bool parts, Descents* packed) const {
    Descents some;
    for (const double part : kPartsFree) Start(draft, AllBut(part), parts, by_packing_, &some);
    std::stable_sort(some.begin(), some.end(), IsFaster);
    if (parts) some.resize(std::min<size_t>(1, some.size()));
    std::move(some.begin(), some.end(), std::back_inserter(*packed));
  }

  int64_t AllBut(double part) const {
    return bytes_ - static_cast<int64_t>(part * static_cast<double>(room_));
  }

  void Start(const Draft& draft, int64_t room, bool parts, const Descent::Judge& judge,
             Descents* descents) const {
    auto descent = std::make_unique<Descent>(graph_, machine_, parts, judge);
    if (descent->Start(draft, room) && std::isfinite(descent->seconds()))
      descents->push_back(std::move(descent));
  }

  /// The draft with a part of the room left free, with copies in pieces of several sizes.
  void TakeInPieces(const Draft& draft, double part_free) {
    const auto settled = Settle(graph_, machine_, draft, AllBut(part_free));
    if (!settled) return;
    const Result<Lifetimes> lives = FindLifetimes(graph_, *settled);
    for (const double times : kTimesAsLarge) {
      Decision decision = *settled;
      decision.piece_bytes =
          Aligned(static_cast<int64_t>(times * static_cast<double>(decision.piece_bytes)));
      if (by_packing_(lives.value(), seconds_, &decision).seconds < seconds_)
        seconds_ = take_(std::move(decision));
    }
  }

  const Graph& graph_;
  const Machine& machine_;
  const int64_t bytes_;
  const int64_t room_;  ///< of them, for what is not persistent
  double seconds_;      ///< to be beaten
  const TakeFaster& take_;
  std::vector<Draft> packed_;  ///< the fastest drafts so far by their packings
  const Descent::Judge by_estimate_ = [this](const Lifetimes& lives, double, Decision* decision) {
    return Estimate(graph_, machine_, bytes_, lives, *decision);
  };
  const Descent::Judge by_packing_ = [this](const Lifetimes& lives, double most_seconds,
                                            Decision* decision) {
    return PackTimed(graph_, machine_, bytes_, lives, most_seconds, decision);
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
