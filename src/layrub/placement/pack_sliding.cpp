#include "layrub/placement/pack_sliding.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <limits>
#include <numeric>
#include <span>
#include <tuple>
#include <utility>

namespace layrub {
namespace {

/// What a piece of a move counts besides its bytes, and what is on its way more: somebody waits.
constexpr int64_t kMove = 4 << 20;
constexpr int64_t kMoveOnItsWay = 64 << 20;
/// Sliding closes gaps first where that takes hardly more than one copy.
constexpr int64_t kFewPieces = 8;
constexpr int64_t kAnyPieces = std::numeric_limits<int64_t>::max();
/// How many looks at intervals one attempt may take: a nanosecond or two each.
constexpr int64_t kMostLooks = 10'000'000;
/// More intervals are left alone.
constexpr size_t kMostIntervals = 10'000;

/// Which hole an interval takes. What fills it goes first; then the smallest, beside what ends at
/// about the same time; or the lowest; or large ones the highest and others the lowest; or what
/// lives longer than so many moments the lowest, and others the highest.
struct Taste {
  enum { kSmallest, kLowest, kLargeHigh, kShortHigh } hole;
  int64_t limit;
};
constexpr std::array<Taste, 6> kTastes{{{Taste::kSmallest, 0},
                                        {Taste::kLowest, 0},
                                        {Taste::kLargeHigh, 8 << 20},
                                        {Taste::kLargeHigh, 32 << 20},
                                        {Taste::kShortHigh, 60},
                                        {Taste::kShortHigh, 300}}};

class Allocator {
 public:
  Allocator(const std::vector<Interval>& intervals, const std::vector<Movable>& movable,
            const std::vector<int32_t>& moments, int64_t height, const Taste& taste)
      : intervals_(intervals),
        movable_(movable),
        moments_(moments),
        height_(height),
        taste_(taste),
        offsets_(intervals.size()) {}

  bool Run() {
    std::vector<int32_t> order(intervals_.size());
    std::iota(order.begin(), order.end(), 0);
    std::sort(order.begin(), order.end(), [this](int32_t a, int32_t b) {
      const Interval &one = intervals_[a], &other = intervals_[b];
      return std::tuple(one.begin, -one.bytes, a) < std::tuple(other.begin, -other.bytes, b);
    });
    first_.assign(intervals_.size(), 0);
    for (auto begin = order.begin(); begin != order.end();) {
      now_ = intervals_[*begin].begin;
      const auto end = std::find_if(begin, order.end(),
                                    [this](int32_t i) { return intervals_[i].begin > now_; });
      std::erase_if(live_, [this](int32_t i) { return intervals_[i].end <= now_; });
      if (!PlaceAll({begin, end})) return false;
      for (; begin != end; ++begin) first_[*begin] = offsets_[*begin];
    }
    return true;
  }

  const std::vector<int64_t>& first() const { return first_; }
  const std::vector<Shift>& shifts() const { return shifts_; }
  int64_t cost() const { return cost_; }

 private:
  struct Hole {
    int64_t begin = 0;
    int64_t end = 0;
    int32_t below = kNone;
    int32_t above = kNone;
  };
  struct Range {
    int64_t begin = 0;
    int64_t end = 0;
  };
  static constexpr int32_t kNone = -1;
  static constexpr int64_t kNowhere = -1;

  int64_t End(int32_t i) const { return offsets_[i] + intervals_[i].bytes; }
  bool MayMove(int32_t i) const { return movable_[i].from <= now_ && now_ <= movable_[i].to; }
  int64_t CostOf(int32_t i, int64_t pieces = 1) const {
    return intervals_[i].bytes + (now_ < movable_[i].settled ? kMoveOnItsWay : 0) + pieces * kMove;
  }

  /// A move on bytes that it leaves is done piece by piece, each as large as the distance.
  int64_t Pieces(int32_t i, int64_t offset) const {
    const int64_t distance = std::abs(offset - offsets_[i]);
    return (intervals_[i].bytes + distance - 1) / distance;
  }

  std::vector<int32_t>::iterator PlaceOf(int64_t offset) {
    return std::lower_bound(live_.begin(), live_.end(), offset,
                            [this](int32_t i, int64_t at) { return offsets_[i] < at; });
  }

  void Put(int32_t i, int64_t offset) {
    live_.insert(PlaceOf(offset), i);
    offsets_[i] = offset;
  }

  void Move(int32_t i, int64_t offset) {
    left_.push_back(offsets_[i]);
    shifts_.push_back({i, now_, offset});
    cost_ += CostOf(i, Pieces(i, offset));
    live_.erase(PlaceOf(offsets_[i]));
    Put(i, offset);
  }

  /// Undoes all moves but the first so many.
  void Undo(size_t moves) {
    for (; shifts_.size() > moves; shifts_.pop_back(), left_.pop_back()) {
      const int32_t i = shifts_.back().interval;
      cost_ -= CostOf(i, Pieces(i, left_.back()));
      live_.erase(PlaceOf(offsets_[i]));
      Put(i, left_.back());
    }
  }

  /// What begins now, in holes, or in place of what makes way; else after everything has slid.
  bool PlaceAll(std::span<const int32_t> fresh) {
    const size_t done = shifts_.size();
    const auto all = [&] {
      return std::all_of(fresh.begin(), fresh.end(), [this](int32_t i) { return Place(i); });
    };
    if (all()) return true;
    for (const int64_t pieces : {kFewPieces, kAnyPieces}) {
      for (const int32_t i : fresh) Remove(i);
      Undo(done);
      Slide(pieces);
      if (looks_ > kMostLooks) return false;
      if (all()) return true;
    }
    return false;
  }

  void Remove(int32_t i) {
    const auto place = PlaceOf(offsets_[i]);
    if (place != live_.end() && *place == i) live_.erase(place);
  }

  bool Place(int32_t i) {
    if (intervals_[i].bytes == 0) return true;
    int64_t offset = FindOffset(i, {});
    if (offset == kNowhere) offset = MakeWay(i);
    if (offset == kNowhere) return false;
    Put(i, offset);
    return true;
  }

  /// Holes outside `taken`.
  template <typename F>
  void ForEachHole(Range taken, const F& f) {
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
    tell(kNone, height_);
    looks_ += static_cast<int64_t>(live_.size());
  }

  int64_t FindOffset(int32_t i, Range taken) {
    using Worth = std::tuple<bool, int64_t, int64_t>;  // the less, the better
    std::optional<Worth> best;
    int64_t found = kNowhere;
    ForEachHole(taken, [&](const Hole& hole) {
      const int64_t left = hole.end - hole.begin - intervals_[i].bytes;
      if (left < 0) return;
      const int64_t below = Apart(i, hole.below), above = Apart(i, hole.above);
      bool low = below <= above;
      Worth worth{left > 0, left, std::min(below, above)};
      if (taste_.hole != Taste::kSmallest) {
        low = GoesLow(i);
        worth = {left > 0, low ? hole.begin : -hole.end, 0};
      }
      if (best && *best <= worth) return;
      best = worth;
      found = low ? hole.begin : hole.end - intervals_[i].bytes;
    });
    return found;
  }

  bool GoesLow(int32_t i) const {
    const Interval& interval = intervals_[i];
    switch (taste_.hole) {
      case Taste::kLargeHigh:
        return interval.bytes < taste_.limit;
      case Taste::kShortHigh:
        return Moments(interval.begin, interval.end) > taste_.limit;
      default:
        return true;
    }
  }

  /// How far apart their ends are; 0: there is no other.
  int64_t Apart(int32_t i, int32_t other) const {
    return other == kNone ? 0 : std::abs(int64_t{intervals_[i].end} - intervals_[other].end);
  }

  int64_t Moments(int32_t from, int32_t to) const {
    return std::lower_bound(moments_.begin(), moments_.end(), to) -
           std::lower_bound(moments_.begin(), moments_.end(), from);
  }

  /// Moves what costs least out of the way of `i` into holes; where `i` may lie then.
  int64_t MakeWay(int32_t i) {
    const int64_t bytes = intervals_[i].bytes;
    std::vector<std::pair<int64_t, int64_t>> windows;  // cost, offset
    const auto add = [&](int64_t offset) {
      if (offset < 0 || offset + bytes > height_) return;
      const auto cost = CostOfWay({offset, offset + bytes});
      if (cost) windows.emplace_back(*cost, offset);
    };
    add(0);
    add(height_ - bytes);
    for (const int32_t other : live_) {
      add(offsets_[other] - bytes);
      add(End(other));
    }
    std::sort(windows.begin(), windows.end());
    windows.erase(std::unique(windows.begin(), windows.end()), windows.end());
    for (const auto& [cost, offset] : windows) {
      if (looks_ > kMostLooks) break;
      if (Clear({offset, offset + bytes})) return offset;
    }
    return kNowhere;
  }

  /// Nothing if something in the way may not be moved.
  std::optional<int64_t> CostOfWay(Range way) {
    int64_t cost = 0;
    for (const int32_t i : live_) {
      ++looks_;
      if (offsets_[i] >= way.end) break;
      if (End(i) <= way.begin) continue;
      if (!MayMove(i)) return std::nullopt;
      cost += CostOf(i);
    }
    return cost;
  }

  /// All or nothing.
  bool Clear(Range way) {
    std::vector<int32_t> inside;
    for (const int32_t i : live_) {
      if (offsets_[i] < way.end && End(i) > way.begin) inside.push_back(i);
    }
    std::stable_sort(inside.begin(), inside.end(), [this](int32_t a, int32_t b) {
      return intervals_[a].bytes > intervals_[b].bytes;
    });
    const size_t done = shifts_.size();
    for (const int32_t i : inside) {
      const int64_t offset = FindOffset(i, way);
      if (offset == kNowhere) {
        Undo(done);
        return false;
      }
      Move(i, offset);
    }
    return true;
  }

  /// Everything that may be moved goes down as far as what lies below lets it, if that takes at
  /// most so many pieces.
  void Slide(int64_t pieces) {
    const std::vector<int32_t> before = live_;
    int64_t bottom = 0;
    for (const int32_t i : before) {
      if (bottom < offsets_[i] && MayMove(i) && Pieces(i, bottom) <= pieces) Move(i, bottom);
      bottom = End(i);
    }
  }

  const std::vector<Interval>& intervals_;
  const std::vector<Movable>& movable_;
  const std::vector<int32_t>& moments_;
  const int64_t height_;
  const Taste& taste_;
  std::vector<int64_t> offsets_;  ///< by interval: where it lies, or lay last
  std::vector<int64_t> first_;    ///< by interval: where it lies first
  std::vector<Shift> shifts_;
  std::vector<int64_t> left_;  ///< by shift: the offset that it leaves
  std::vector<int32_t> live_;  ///< what lies somewhere, by offset
  int32_t now_ = 0;
  int64_t cost_ = 0;
  int64_t looks_ = 0;
};

}  // namespace

std::optional<MovingPacking> PackSliding(const std::vector<Interval>& intervals,
                                         const std::vector<Movable>& movable,
                                         const std::vector<int32_t>& moments, int64_t unit,
                                         int64_t enough) {
  std::vector<int32_t> others;
  MovingPacking found{PackWhole(intervals, &others), {}};
  const int64_t bottom = found.packing.bytes;
  std::vector<Interval> some;
  std::vector<Movable> some_movable;
  for (const int32_t i : others) {
    some.push_back(intervals[i]);
    const auto after = std::upper_bound(moments.begin(), moments.end(), some.back().begin);
    if (after != moments.begin()) some.back().begin = *(after - 1);
    some_movable.push_back(movable[i]);
  }
  const int64_t height = (enough - bottom) / unit * unit;
  if (some.size() > kMostIntervals || bottom > enough || LargestLiveSum(some) > height)
    return std::nullopt;
  int64_t least = std::numeric_limits<int64_t>::max();
  for (const Taste& taste : kTastes) {
    Allocator allocator(some, some_movable, moments, height, taste);
    if (!allocator.Run() || allocator.cost() >= least) continue;
    least = allocator.cost();
    for (size_t i = 0; i < others.size(); ++i)
      found.packing.offsets[others[i]] = bottom + allocator.first()[i];
    found.shifts = allocator.shifts();
  }
  if (least == std::numeric_limits<int64_t>::max()) return std::nullopt;
  for (Shift& shift : found.shifts) {
    shift.interval = others[shift.interval];
    shift.offset += bottom;
  }
  found.packing.bytes = bottom + height;
  return found;
}

}  // namespace layrub
