#include "layrub/placement/cost/live_bytes.hpp"

#include <algorithm>

namespace layrub::placement::cost {

std::vector<int64_t> LiveBytes(const Lifetimes& lives, size_t runs) {
  std::vector<int64_t> change(runs + 1);
  for (const LiveInterval& interval : lives.intervals) {
    // In its first run a tensor that lies on another shares that one's range.
    const RunId begin = interval.on != kNone ? interval.begin + 1 : std::max(interval.begin, 0);
    const RunId end = std::min(interval.end + 1, static_cast<RunId>(runs));
    if (begin >= end) continue;
    change[begin] += interval.bytes;
    change[end] -= interval.bytes;
  }
  for (size_t r = 1; r < change.size(); ++r) change[r] += change[r - 1];
  change.pop_back();
  return change;
}

int64_t PeakLiveBytes(const Lifetimes& lives, size_t runs) {
  const std::vector<int64_t> loads = LiveBytes(lives, runs);
  return loads.empty() ? 0 : *std::max_element(loads.begin(), loads.end());
}

}  // namespace layrub::placement::cost
