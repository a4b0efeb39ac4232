#include "layrub/placement/check/check_memory.hpp"

#include <algorithm>
#include <iterator>

namespace layrub::placement::check {

TensorId Arena::Overlapping(int64_t offset, int64_t bytes) const {
  if (bytes == 0) return kNone;
  // Live ranges do not overlap, so the last one that begins before the end of these bytes reaches
  // furthest.
  const auto next = live_.lower_bound(offset + bytes);
  if (next == live_.begin()) return kNone;
  const Range& before = ranges_[std::prev(next)->second];
  return before.offset + before.bytes > offset ? before.first : kNone;
}

void Arena::Alloc(TensorId tensor, int64_t offset, int64_t bytes) {
  range_of_[tensor] = static_cast<int32_t>(ranges_.size());
  if (bytes > 0) live_[offset] = range_of_[tensor];
  ranges_.push_back({offset, bytes, tensor, 1, {}, {}, {}});
}

void Arena::Bind(TensorId tensor, TensorId on) {
  range_of_[tensor] = range_of_[on];
  ++Of(tensor).bound;
}

void Arena::Free(TensorId tensor) {
  Range& range = Of(tensor);
  range_of_[tensor] = kNone;
  if (--range.bound == 0 && range.bytes > 0) live_.erase(range.offset);
}

}  // namespace layrub::placement::check
