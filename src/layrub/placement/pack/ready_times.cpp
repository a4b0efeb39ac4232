#include "layrub/placement/pack/ready_times.hpp"

#include <algorithm>

namespace layrub::placement::pack {

/// The first stretch that ends after `place`.
size_t ReadyTimes::FirstAfter(int64_t place) const {
  const auto ends = [place](const Stretch& one) { return one.end <= place; };
  return std::partition_point(stretches_.begin(), stretches_.end(), ends) - stretches_.begin();
}

void ReadyTimes::Set(int64_t begin, int64_t end, double seconds) {
  if (begin == end) return;
  const size_t from = FirstAfter(begin);
  size_t to = from;
  while (to < stretches_.size() && stretches_[to].begin < end) ++to;
  std::vector<Stretch> there;  // instead of those from `from` to before `to`
  if (from < to && stretches_[from].begin < begin) {
    const Stretch& old = stretches_[from];
    there.push_back({old.begin, begin, old.ready});
  }
  there.push_back({begin, end, seconds});
  if (from < to && stretches_[to - 1].end > end) {
    const Stretch& old = stretches_[to - 1];
    there.push_back({end, old.end, old.ready});
  }
  stretches_.erase(stretches_.begin() + static_cast<int64_t>(from),
                   stretches_.begin() + static_cast<int64_t>(to));
  stretches_.insert(stretches_.begin() + static_cast<int64_t>(from), there.begin(), there.end());
}

double ReadyTimes::Wait(int64_t begin, int64_t end, double seconds) const {
  double most = 0;
  for (size_t i = FirstAfter(begin); i < stretches_.size() && stretches_[i].begin < end; ++i)
    most = std::max(most, stretches_[i].ready - seconds);
  return most;
}

}  // namespace layrub::placement::pack
