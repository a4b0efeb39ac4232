#include "layrub/placement/pack/ready_times.hpp"

#include <algorithm>

namespace layrub::placement::pack {

/// The first stretch that ends after `place`.
size_t ReadyTimes::FirstAfter(int64_t place) const {
  const auto ends = [place](const Stretch& one) { return one.end <= place; };
  return std::partition_point(stretches_.begin(), stretches_.end(), ends) - stretches_.begin();
}

void ReadyTimes::Set(int64_t begin, int64_t end, double first, double last) {
  if (begin == end) return;
  const size_t from = FirstAfter(begin);
  size_t to = from;
  while (to < stretches_.size() && stretches_[to].begin < end) ++to;
  std::vector<Stretch> there;  // instead of those from `from` to before `to`
  if (from < to && stretches_[from].begin < begin) {
    const Stretch& old = stretches_[from];
    there.push_back({old.begin, begin, old.first, old.At(begin)});
  }
  there.push_back({begin, end, first, last});
  if (from < to && stretches_[to - 1].end > end) {
    const Stretch& old = stretches_[to - 1];
    there.push_back({end, old.end, old.At(end), old.last});
  }
  stretches_.erase(stretches_.begin() + static_cast<int64_t>(from),
                   stretches_.begin() + static_cast<int64_t>(to));
  stretches_.insert(stretches_.begin() + static_cast<int64_t>(from), there.begin(), there.end());
}

double ReadyTimes::Wait(int64_t offset, int64_t bytes, const Timing& timing) const {
  const Stretch wanted{offset, offset + bytes, timing.wanted_first, timing.wanted_last};
  double most = 0;
  for (size_t i = FirstAfter(offset); i < stretches_.size(); ++i) {
    const Stretch& ready = stretches_[i];
    if (ready.begin >= wanted.end) break;
    for (const int64_t place : {std::max(ready.begin, offset), std::min(ready.end, wanted.end)})
      most = std::max(most, ready.At(place) - wanted.At(place));
  }
  return most;
}

}  // namespace layrub::placement::pack
