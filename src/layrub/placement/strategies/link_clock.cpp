#include "layrub/placement/strategies/link_clock.hpp"

#include <algorithm>

namespace layrub {

double LinkClock::Seconds(int64_t bytes) const {
  return static_cast<double>(bytes) / machine_.link_up + machine_.latency;
}

LinkClock::Save LinkClock::FindSave(const Away& away) const {
  const double takes = static_cast<double>(away.bytes) / machine_.link_down + machine_.latency;
  double begin = runs_[away.last].end;
  auto next = std::upper_bound(saves_.begin(), saves_.end(), begin,
                               [](double at, const Stretch& save) { return at < save.end; });
  for (; next != saves_.end() && begin + takes > next->begin; ++next) begin = next->end;
  Save save{static_cast<size_t>(next - saves_.begin()), {begin, begin + takes}};
  for (RunId r = away.release + 1; r < Count() && runs_[r].begin < save.stretch.end; ++r) {
    if (loads_[r] + away.range <= room_) continue;
    save.delay = save.stretch.end - runs_[r].begin;
    break;
  }
  return save;
}

LinkClock::Arrival LinkClock::FindArrival(const Away& away) const {
  const double takes = Seconds(away.bytes);
  RunId first = Count();
  double begin = now_;
  while (first > away.release + 1 && begin > now_ - takes &&
         loads_[first - 1] + away.range <= room_) {
    begin = runs_[--first].begin;
  }
  return {first, std::max(begin, link_free_) + takes};
}

double LinkClock::Wait(const Away& away) const {
  const double delay = away.saved || !saves_count_ ? 0 : FindSave(away).delay;
  return delay + std::max(0.0, FindArrival(away).end - now_);
}

void LinkClock::Fetch(const Away& away) {
  if (!away.saved && saves_count_) {
    const Save save = FindSave(away);
    saves_.insert(saves_.begin() + static_cast<int64_t>(save.place), save.stretch);
    now_ += save.delay;
  }
  const Arrival arrival = FindArrival(away);
  for (RunId r = arrival.first; r < Count(); ++r) loads_[r] += away.range;
  link_free_ = arrival.end;
  now_ = std::max(now_, arrival.end);
}

void LinkClock::Run(double seconds, int64_t load) {
  runs_.push_back({now_, now_ + seconds});
  loads_.push_back(load);
  now_ += seconds;
}

}  // namespace layrub
