#include "layrub/placement/pack_sliding.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "layrub/placement/sliding_allocator.hpp"

namespace layrub {
namespace {

/// What takes a smaller part of the bytes is not worth moving.
constexpr int64_t kSmallPart = 4096;
/// More intervals are left alone.
constexpr size_t kMostIntervals = 10'000;

/// Puts what is small above what is there, in fixed places, and removes it from `others`, if the
/// others may still fit.
void PackSmall(const std::vector<Interval>& intervals, const std::vector<bool>& may_be_small,
               int64_t enough, std::vector<int32_t>* others, Packing* packing) {
  const int64_t most = (enough - packing->bytes) / kSmallPart;
  std::vector<int32_t> large, small;
  std::vector<Interval> large_ones, small_ones;
  for (const int32_t i : *others) {
    const bool is_small = may_be_small[i] && intervals[i].bytes <= most;
    (is_small ? small : large).push_back(i);
    (is_small ? small_ones : large_ones).push_back(intervals[i]);
  }
  const Packing packed = Pack(small_ones, std::numeric_limits<int64_t>::max());
  if (packing->bytes + packed.bytes + LargestLiveSum(large_ones) > enough) return;
  for (size_t i = 0; i < small.size(); ++i)
    packing->offsets[small[i]] = packing->bytes + packed.offsets[i];
  packing->bytes += packed.bytes;
  *others = std::move(large);
}

}  // namespace

std::optional<MovingPacking> PackSliding(const std::vector<Interval>& intervals,
                                         const std::vector<Movable>& movable,
                                         const std::vector<int32_t>& moments,
                                         const std::vector<Timing>& timings, int64_t unit,
                                         int64_t enough, const std::vector<int32_t>& follows) {
  std::vector<int32_t> others;
  MovingPacking found{PackWhole(intervals, &others), {}};
  std::vector<bool> alone(intervals.size(), true);
  for (size_t i = 0; i < follows.size(); ++i) {
    if (follows[i] != kNone) alone[i] = alone[follows[i]] = false;
  }
  PackSmall(intervals, alone, enough, &others, &found.packing);
  const int64_t bottom = found.packing.bytes;
  std::vector<Interval> some;
  std::vector<Movable> some_movable;
  std::vector<Timing> some_timings;
  std::vector<int32_t> some_follow, index(intervals.size(), kNone);
  for (const int32_t i : others) {
    index[i] = static_cast<int32_t>(some.size());
    const int32_t before = follows.empty() ? kNone : follows[i];
    some_follow.push_back(before == kNone ? kNone : index[before]);
    some.push_back(intervals[i]);
    const int32_t begin = some.back().begin;
    const auto after = std::upper_bound(moments.begin(), moments.end(), begin);
    if (before != kNone && intervals[i].bytes < intervals[before].bytes) {
      const auto next = std::lower_bound(moments.begin(), after, intervals[before].end);
      if (next != moments.end()) some.back().begin = *next;
    } else if (after != moments.begin()) {
      some.back().begin = *(after - 1);
    }
    some_movable.push_back(movable[i]);
    some_timings.push_back(timings.empty() ? Timing() : timings[i]);
  }
  const int64_t height = (enough - bottom) / unit * unit;
  // A part is there until it grows, at the moment at which the whole begins.
  std::vector<int32_t> parts;
  for (size_t i = 0; i < some.size(); ++i) {
    const int32_t before = some_follow[i];
    if (before == kNone || some[i].bytes < some[before].bytes) continue;
    some[before].end = some[i].begin;
    parts.push_back(before);
  }
  std::vector<Interval> living = some;
  std::erase_if(living, [](const Interval& one) { return one.begin >= one.end; });
  if (some.size() > kMostIntervals || bottom > enough || LargestLiveSum(living) > height)
    return std::nullopt;
  for (const int32_t part : parts) ++some[part].end;
  SlidingAllocator allocator(some, some_movable, some_timings, some_follow, height);
  if (!allocator.Run()) return std::nullopt;
  for (size_t i = 0; i < others.size(); ++i)
    found.packing.offsets[others[i]] = bottom + allocator.first()[i];
  for (const Shift& shift : allocator.shifts())
    found.shifts.push_back({others[shift.interval], shift.at, bottom + shift.offset});
  found.packing.bytes = bottom + height;
  return found;
}

}  // namespace layrub
