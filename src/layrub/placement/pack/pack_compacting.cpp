#include "layrub/placement/pack/pack_compacting.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "layrub/placement/pack/compacting_allocator.hpp"

namespace layrub::placement::pack {
namespace {

/// An interval smaller than the bytes that there are, divided by this, is not worth moving.
constexpr int64_t kSmallPart = 4096;
/// With more intervals PackCompacting gives up.
constexpr size_t kMostIntervals = 10'000;

/// Packs small intervals above `packing`, in fixed places, and removes them from `others`, if the
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

/// The moment at which interval `i` is placed: the last of `moments` that is not after its begin.
/// If it is the part that is left of `before`, the first of them after that one has ended.
int32_t PlacementMoment(const std::vector<Interval>& intervals, const std::vector<int32_t>& moments,
                        int32_t i, int32_t before) {
  const int32_t begin = intervals[i].begin;
  const auto after = std::upper_bound(moments.begin(), moments.end(), begin);
  if (before != kNone && intervals[i].bytes < intervals[before].bytes) {
    const auto next = std::lower_bound(moments.begin(), after, intervals[before].end);
    return next == moments.end() ? begin : *next;
  }
  return after == moments.begin() ? begin : *(after - 1);
}

}  // namespace

std::optional<MovingPacking> PackCompacting(const std::vector<Interval>& intervals,
                                            const std::vector<Movable>& movable,
                                            const std::vector<int32_t>& moments,
                                            const Timings& timings, int64_t unit, int64_t enough,
                                            const std::vector<int32_t>& follows) {
  std::vector<int32_t> others;
  MovingPacking found{PackWhole(intervals, &others), {}};
  std::vector<bool> alone(intervals.size(), true);
  for (size_t i = 0; i < follows.size(); ++i) {
    if (follows[i] != kNone) alone[i] = alone[follows[i]] = false;
  }
  PackSmall(intervals, alone, enough, &others, &found.packing);
  const int64_t bottom = found.packing.bytes;
  CompactingRequests some;
  some.moved_byte = timings.moved_byte;
  some.piece = timings.piece;
  some.height = (enough - bottom) / unit * unit;
  std::vector<int32_t> index(intervals.size(), kNone);
  for (const int32_t i : others) {
    index[i] = static_cast<int32_t>(some.intervals.size());
    const int32_t before = follows.empty() ? kNone : follows[i];
    some.follows.push_back(before == kNone ? kNone : index[before]);
    some.intervals.push_back(intervals[i]);
    some.intervals.back().begin = PlacementMoment(intervals, moments, i, before);
    some.movable.push_back(movable[i]);
    some.timings.push_back(timings.ranges.empty() ? Timing() : timings.ranges[i]);
  }
  // A part lasts until it grows, at the moment at which the whole tensor begins.
  std::vector<int32_t> parts;
  for (size_t i = 0; i < some.intervals.size(); ++i) {
    if (!some.Grows(static_cast<int32_t>(i))) continue;
    some.intervals[some.follows[i]].end = some.intervals[i].begin;
    parts.push_back(some.follows[i]);
  }
  std::vector<Interval> living = some.intervals;
  std::erase_if(living, [](const Interval& one) { return one.begin >= one.end; });
  if (some.intervals.size() > kMostIntervals || bottom > enough ||
      LargestLiveSum(living) > some.height)
    return std::nullopt;
  for (const int32_t part : parts) ++some.intervals[part].end;
  some.SetOrder();
  CompactingAllocator done(some);
  if (!done.Run()) return std::nullopt;
  int64_t& bytes = found.packing.bytes;  // the highest byte in use, plus one
  const auto reach = [&](int32_t i, int64_t offset) {
    bytes = std::max(bytes, offset + intervals[i].bytes);
  };
  for (size_t i = 0; i < others.size(); ++i) {
    found.packing.offsets[others[i]] = bottom + done.first()[i];
    reach(others[i], found.packing.offsets[others[i]]);
  }
  for (const Shift& shift : done.shifts()) {
    found.shifts.push_back({others[shift.interval], shift.at, bottom + shift.offset});
    reach(found.shifts.back().interval, found.shifts.back().offset);
  }
  return found;
}

}  // namespace layrub::placement::pack
