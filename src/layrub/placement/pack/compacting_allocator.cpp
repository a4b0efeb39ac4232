#include "layrub/placement/pack/compacting_allocator.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <numeric>
#include <tuple>
#include <utility>

namespace layrub::placement::pack {
namespace {

/// Moving an interval that a copy may still be filling costs so many bytes more, because somebody
/// waits.
constexpr int64_t kMoveOnItsWay = 64 << 20;
/// Sliding first closes only the holes for which it needs at most so many pieces: hardly more than
/// one copy.
constexpr int64_t kFewPieces = 8;
constexpr int64_t kAnyPieces = std::numeric_limits<int64_t>::max();
/// Waits shorter than so many seconds do not count.
constexpr double kTick = 20e-6;

}  // namespace

void CompactingRequests::SetOrder() {
  order.resize(intervals.size());
  std::iota(order.begin(), order.end(), 0);
  const auto rank = [this](int32_t i) {
    // Intervals that were just placed may not move, so an interval that grows comes before them.
    return std::tuple(intervals[i].begin, !Shrinks(i), !Grows(i), -intervals[i].bytes, i);
  };
  std::sort(order.begin(), order.end(), [&](int32_t a, int32_t b) { return rank(a) < rank(b); });
}

bool CompactingAllocator::Run() {
  const std::vector<Interval>& intervals = requests_.intervals;
  const std::span<const int32_t> order = requests_.order;
  for (size_t next = 0; next < order.size();) {
    now_ = intervals[order[next]].begin;
    size_t others = next, end = next;
    double wanted = std::numeric_limits<double>::infinity();
    for (; end < order.size() && intervals[order[end]].begin == now_; ++end) {
      wanted = std::min(wanted, requests_.timings[order[end]].wanted);
      others += requests_.Shrinks(order[end]);
    }
    if (std::isfinite(wanted)) seconds_ = wanted;
    std::erase_if(live_, [this](int32_t i) { return HasEnded(i); });
    for (; next < others; ++next)
      Put(order[next], first_[order[next]] = offsets_[requests_.follows[order[next]]]);
    if (!PlaceAll(order.subspan(next, end - next))) return false;
    for (; next < end; ++next) first_[order[next]] = offsets_[order[next]];
  }
  return true;
}

bool CompactingAllocator::HasEnded(int32_t i) {
  if (requests_.intervals[i].end > now_) return false;
  ready_.Set(offsets_[i], End(i), requests_.timings[i].ready);
  return true;
}

double CompactingAllocator::CostOf(int32_t i, int64_t pieces) const {
  const int64_t bytes = Bytes(i) + (now_ < requests_.movable[i].settled ? kMoveOnItsWay : 0);
  return static_cast<double>(bytes) * requests_.moved_byte +
         static_cast<double>(pieces) * requests_.piece;
}

double CompactingAllocator::WaitOf(int32_t i, int64_t offset) const {
  return ready_.Wait(offset, offset + Bytes(i), requests_.timings[i].wanted);
}

/// A move to an overlapping range is done in pieces, each as large as the distance.
int64_t CompactingAllocator::Pieces(int32_t i, int64_t offset) const {
  return PiecesAt(i, std::abs(offset - offsets_[i]));
}
int64_t CompactingAllocator::PiecesAt(int32_t i, int64_t distance) const {
  return (Bytes(i) + distance - 1) / distance;
}

/// The bytes of the hole below the k-th of live_; for k = live_.size(), of the hole above all.
int64_t CompactingAllocator::HoleBelow(size_t k) const {
  return (k < live_.size() ? offsets_[live_[k]] : requests_.height) -
         (k > 0 ? End(live_[k - 1]) : 0);
}

std::vector<int32_t>::iterator CompactingAllocator::PlaceOf(int64_t offset) {
  return std::lower_bound(live_.begin(), live_.end(), offset,
                          [this](int32_t i, int64_t at) { return offsets_[i] < at; });
}

void CompactingAllocator::Put(int32_t i, int64_t offset) {
  live_.insert(PlaceOf(offset), i);
  offsets_[i] = offset;
}

void CompactingAllocator::Move(int32_t i, int64_t offset) {
  left_.push_back(offsets_[i]);
  shifts_.push_back({i, now_, offset});
  ready_.Set(offsets_[i], End(i), seconds_);
  live_.erase(PlaceOf(offsets_[i]));
  Put(i, offset);
}

/// Undoes all but the first `moves` moves.
void CompactingAllocator::Undo(size_t moves) {
  for (; shifts_.size() > moves; shifts_.pop_back(), left_.pop_back()) {
    const int32_t i = shifts_.back().interval;
    live_.erase(PlaceOf(offsets_[i]));
    Put(i, left_.back());
  }
}

/// Places the intervals that begin now; if that fails, tries again after everything has slid down.
bool CompactingAllocator::PlaceAll(std::span<const int32_t> fresh) {
  const size_t done = shifts_.size();
  const auto all = [&] {
    return std::all_of(fresh.begin(), fresh.end(), [this](int32_t i) { return Place(i); });
  };
  if (all()) return true;
  for (const int64_t pieces : {kFewPieces, kAnyPieces}) {
    for (const int32_t i : fresh) Remove(i);
    Undo(done);
    Slide(pieces);
    if (looks_ > kMaxVisits) return false;
    if (all()) return true;
  }
  return false;
}

void CompactingAllocator::Remove(int32_t i) {
  const auto place = PlaceOf(offsets_[i]);
  if (place == live_.end() || *place != i) return;
  live_.erase(place);
  if (requests_.Grows(i)) Put(requests_.follows[i], offsets_[i]);
}

bool CompactingAllocator::Place(int32_t i) {
  if (Bytes(i) == 0) return true;
  if (requests_.Grows(i)) return Grow(i, requests_.follows[i]);
  int64_t offset = FindOffset(i, {});
  if (offset == kNowhere) offset = MakeWay(i);
  if (offset == kNowhere) return false;
  Put(i, offset);
  return true;
}

/// Gives `i` the address of `part`, after others have made way around the part, or the part has
/// moved.
bool CompactingAllocator::Grow(int32_t i, int32_t part) {
  const Room room = FindRoom(part, Bytes(i) - Bytes(part));
  const int64_t offset = FindOffset(i, {});
  if (offset != kNowhere && MayMove(part) && CostOf(part) < room.cost) {
    Move(part, offset);
  } else {
    if (room.cost == kNoWay) return false;
    MakeRoom(part, room);
  }
  live_.erase(PlaceOf(offsets_[part]));
  Put(i, offsets_[part]);
  return true;
}

/// Calls f(hole) for the holes outside `taken`.
template <typename F>
void CompactingAllocator::ForEachHole(Range taken, const F& f) {
  Hole hole;
  const auto tell = [&](int32_t above, int64_t end) {
    hole.end = end;
    hole.above = above;
    if (hole.end <= taken.begin || taken.end <= hole.begin) {
      f(hole);
    } else {
      f({hole.begin, taken.begin, hole.below, kNone});
      f({taken.end, hole.end, kNone, hole.above});
    }
  };
  for (const int32_t i : live_) {
    tell(i, offsets_[i]);
    hole = {End(i), 0, i, kNone};
  }
  tell(kNone, requests_.height);
  looks_ += static_cast<int64_t>(live_.size());
}

/// Finds the offset at which `i` waits least. Of equals, prefers a hole that it fills, then the
/// smallest hole, then a neighbour that ends at about the same time.
int64_t CompactingAllocator::FindOffset(int32_t i, Range taken) {
  using Worth = std::tuple<int64_t, bool, int64_t, int64_t>;  // the smallest is best
  std::optional<Worth> best;
  int64_t found = kNowhere;
  const int64_t bytes = Bytes(i);
  ForEachHole(taken, [&](const Hole& hole) {
    const int64_t left = hole.end - hole.begin - bytes;
    if (left < 0) return;
    for (const bool low : {true, false}) {
      const int64_t offset = low ? hole.begin : hole.end - bytes;
      const Worth worth{static_cast<int64_t>(WaitOf(i, offset) / kTick), left > 0, left,
                        Apart(i, low ? hole.below : hole.above)};
      if (best && *best <= worth) continue;
      best = worth;
      found = offset;
    }
  });
  return found;
}

/// How far apart the ends of `i` and `other` are; 0 if there is no other.
int64_t CompactingAllocator::Apart(int32_t i, int32_t other) const {
  return other == kNone
             ? 0
             : std::abs(int64_t{requests_.intervals[i].end} - requests_.intervals[other].end);
}

}  // namespace layrub::placement::pack
