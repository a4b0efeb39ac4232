#include "layrub/placement/ready_times.hpp"

#include <algorithm>
#include <iterator>

namespace layrub {
namespace {

/// At `at`, on the line from `first` at `begin` to `last` at `end`.
double Between(int64_t begin, int64_t end, double first, double last, int64_t at) {
  return first +
         (last - first) * static_cast<double>(at - begin) / static_cast<double>(end - begin);
}

}  // namespace

void ReadyTimes::Set(int64_t begin, int64_t end, double first, double last) {
  if (begin == end) return;
  auto next = stretches_.lower_bound(begin);
  if (next != stretches_.begin() && std::prev(next)->second.end > begin) --next;
  while (next != stretches_.end() && next->first < end) {
    const auto [from, old] = *next;
    next = stretches_.erase(next);
    const auto at = [&](int64_t place) {
      return Between(from, old.end, old.first, old.last, place);
    };
    if (from < begin) stretches_[from] = {begin, old.first, at(begin)};
    if (old.end > end) stretches_[end] = {old.end, at(end), old.last};
  }
  stretches_[begin] = {end, first, last};
}

double ReadyTimes::Wait(int64_t offset, int64_t bytes, const Timing& timing) const {
  const int64_t end = offset + bytes;
  double most = 0;
  auto next = stretches_.lower_bound(offset);
  if (next != stretches_.begin() && std::prev(next)->second.end > offset) --next;
  for (; next != stretches_.end() && next->first < end; ++next) {
    const auto& [from, ready] = *next;
    for (const int64_t place : {std::max(from, offset), std::min(ready.end, end)}) {
      const double wanted = Between(offset, end, timing.wanted_first, timing.wanted_last, place);
      most = std::max(most, Between(from, ready.end, ready.first, ready.last, place) - wanted);
    }
  }
  return most;
}

}  // namespace layrub
