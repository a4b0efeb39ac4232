#include "layrub/placement/search/link_clock.hpp"

#include <algorithm>

#include "layrub/placement/cost/run_starts.hpp"

namespace layrub::placement::search {

double LinkClock::Seconds(int64_t bytes) const {
  return cost::CopySeconds(Lane::kLoad, bytes, machine_);
}

LinkClock::Save LinkClock::FindSave(const Evicted& evicted) const {
  const double takes = cost::CopySeconds(Lane::kSave, evicted.bytes, machine_);
  double begin = runs_[evicted.last].end;
  auto next = std::upper_bound(saves_.begin(), saves_.end(), begin,
                               [](double at, const Stretch& save) { return at < save.end; });
  for (; next != saves_.end() && begin + takes > next->begin; ++next) begin = next->end;
  Save save{static_cast<size_t>(next - saves_.begin()), {begin, begin + takes}};
  for (RunId r = evicted.release + 1; r < Count() && runs_[r].begin < save.stretch.end; ++r) {
    if (loads_[r] + evicted.range <= capacity_) continue;
    save.delay = save.stretch.end - runs_[r].begin;
    break;
  }
  return save;
}

LinkClock::Arrival LinkClock::FindArrival(const Evicted& evicted) const {
  const double takes = Seconds(evicted.bytes);
  RunId first = Count();
  double begin = now_;
  while (first > evicted.release + 1 && begin > now_ - takes &&
         loads_[first - 1] + evicted.range <= capacity_) {
    begin = runs_[--first].begin;
  }
  return {first, std::max(begin, link_free_) + takes};
}

double LinkClock::Wait(const Evicted& evicted) const {
  const double delay = evicted.saved ? 0 : FindSave(evicted).delay;
  return delay + std::max(0.0, FindArrival(evicted).end - now_);
}

void LinkClock::Fetch(const Evicted& evicted) {
  if (!evicted.saved) {
    const Save save = FindSave(evicted);
    saves_.insert(saves_.begin() + static_cast<int64_t>(save.place), save.stretch);
    now_ += save.delay;
  }
  const Arrival arrival = FindArrival(evicted);
  for (RunId r = arrival.first; r < Count(); ++r) loads_[r] += evicted.range;
  link_free_ = arrival.end;
  now_ = std::max(now_, arrival.end);
}

void LinkClock::Run(double seconds, int64_t load) {
  runs_.push_back({now_, now_ + seconds});
  loads_.push_back(load);
  now_ += seconds;
}

}  // namespace layrub::placement::search
