#include "layrub/placement/pack_moves.hpp"

#include <algorithm>
#include <utility>

#include "layrub/placement/pack_search.hpp"

namespace layrub {
namespace {

/// What one search may take (PackSearch::looks) before something is cut; with few intervals, so
/// many looks at each pair of them.
constexpr int64_t kLooksBeforeCut = 20'000'000;
constexpr int64_t kPatience = 2000;
/// How many searches there may be in one call, and what they take at most: a tenth of a second.
constexpr int64_t kMostSearches = 5;
constexpr int64_t kLooks = kMostSearches * kLooksBeforeCut;

/// Intervals, some of them in parts. The first part of each has its number.
class Parts {
 public:
  /// `height`: the bytes that there are.
  Parts(std::vector<Interval> intervals, std::vector<Movable> movable,
        const std::vector<int32_t>& moments, int64_t height)
      : parts_(std::move(intervals)),
        movable_(std::move(movable)),
        moments_(moments),
        height_(height),
        live_(moments.size()) {
    for (int32_t i = 0; i < static_cast<int32_t>(parts_.size()); ++i) of_.push_back(i);
    std::vector<int64_t> change(moments.size() + 1);
    for (const Interval& part : parts_) {
      change[FirstMoment(part.begin)] += part.bytes;
      change[FirstMoment(part.end)] -= part.bytes;
    }
    int64_t sum = 0;
    for (size_t m = 0; m < moments.size(); ++m) live_[m] = sum += change[m];
  }

  const std::vector<Interval>& all() const { return parts_; }

  /// Cuts the part that is dearest in `search`; returns its number, or kNone if none can be cut.
  int32_t CutDearest(const PackSearch& search) {
    int32_t dearest = kNone;
    size_t at = 0;
    for (int32_t i = 0; i < static_cast<int32_t>(parts_.size()); ++i) {
      if (parts_[i].bytes == 0) continue;
      if (dearest != kNone && search.price(i) <= search.price(dearest)) continue;
      const size_t moment = EmptiestMoment(i);
      if (moment == moments_.size()) continue;
      dearest = i;
      at = moment;
    }
    if (dearest != kNone) Cut(dearest, at);
    return dearest;
  }

  std::vector<Shift> Shifts(const std::vector<int64_t>& offsets, size_t intervals) const {
    std::vector<Shift> shifts;
    for (size_t i = intervals; i < parts_.size(); ++i)
      shifts.push_back({of_[i], parts_[i].begin, offsets[i]});
    std::stable_sort(shifts.begin(), shifts.end(),
                     [](const Shift& a, const Shift& b) { return a.at < b.at; });
    return shifts;
  }

  static constexpr int32_t kNone = -1;

 private:
  size_t FirstMoment(int32_t from) const {
    return std::lower_bound(moments_.begin(), moments_.end(), from) - moments_.begin();
  }

  /// Where the part may be cut and fits twice; the number of moments if there is no such one.
  size_t EmptiestMoment(int32_t i) const {
    size_t best = moments_.size();
    for (size_t m = FirstMoment(std::max(movable_[i].from, movable_[i].settled));
         m < moments_.size() && moments_[m] <= movable_[i].to; ++m) {
      if (live_[m] + parts_[i].bytes > height_) continue;
      if (best == moments_.size() || live_[m] < live_[best]) best = m;
    }
    return best;
  }

  void Cut(int32_t i, size_t moment) {
    const int32_t at = moments_[moment];
    Interval later = parts_[i];
    later.begin = at;
    parts_[i].end = at + 1;
    parts_.push_back(later);
    movable_.push_back({at + 1, movable_[i].to});
    movable_[i].to = at - 1;
    of_.push_back(of_[i]);
    live_[moment] += later.bytes;
  }

  std::vector<Interval> parts_;
  std::vector<Movable> movable_;  ///< by part
  std::vector<int32_t> of_;       ///< by part: its interval
  const std::vector<int32_t>& moments_;
  const int64_t height_;
  std::vector<int64_t> live_;  ///< by moment: bytes that live there
};

}  // namespace

std::optional<MovingPacking> PackMoving(const std::vector<Interval>& intervals,
                                        const std::vector<Movable>& movable,
                                        const std::vector<int32_t>& moments, int64_t enough) {
  std::vector<int32_t> others;
  MovingPacking found{PackWhole(intervals, &others), {}};
  std::vector<Interval> some;
  std::vector<Movable> some_movable;
  for (const int32_t i : others) {
    some.push_back(intervals[i]);
    some_movable.push_back(movable[i]);
  }
  const int64_t bottom = found.packing.bytes;
  const auto count = static_cast<int64_t>(some.size());
  if (LargestLiveSum(some) > enough - bottom) return std::nullopt;
  if (count * count > kLooks) {  // a search would not come to an end of its first round
    found.packing = Pack(intervals, enough);
    return found.packing.bytes <= enough ? std::optional(std::move(found)) : std::nullopt;
  }
  Parts parts(std::move(some), std::move(some_movable), moments, enough - bottom);
  PackSearch search(parts.all());
  const int64_t before_cut = std::min(kLooksBeforeCut, kPatience * count * count);
  const int64_t most = kMostSearches * before_cut;
  int64_t looks = 0;
  while (!search.Fit(enough - bottom, std::min(before_cut, most - looks))) {
    looks += search.looks();
    const int32_t cut = looks < most ? parts.CutDearest(search) : Parts::kNone;
    if (cut == Parts::kNone) return std::nullopt;
    search = PackSearch(parts.all(), search, cut);
  }
  const Packing above = search.Result();
  for (size_t i = 0; i < others.size(); ++i)
    found.packing.offsets[others[i]] = bottom + above.offsets[i];
  found.packing.bytes += above.bytes;
  found.shifts = parts.Shifts(above.offsets, others.size());
  for (Shift& shift : found.shifts) {
    shift.interval = others[shift.interval];
    shift.offset += bottom;
  }
  return found;
}

}  // namespace layrub
