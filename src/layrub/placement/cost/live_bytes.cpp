#include "layrub/placement/cost/live_bytes.hpp"

#include <algorithm>

namespace layrub::placement::cost {

std::vector<int64_t> LiveBytes(const Lifetimes& lives, size_t runs) {
  std::vector<int64_t> change(runs + 1);
  for (const Residence& residence : lives.residences) {
    // A tensor that lies on another has its range to itself from the next run on, and so has a
    // part.
    const bool later = residence.on != kNone || residence.part;
    const RunId begin = later ? residence.begin + 1 : std::max(residence.begin, 0);
    const RunId end = std::min(residence.end + !residence.part, static_cast<RunId>(runs));
    if (begin >= end) continue;
    change[begin] += residence.bytes;
    change[end] -= residence.bytes;
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
