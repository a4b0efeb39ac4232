#include "layrub/placement/pack/pack.hpp"

#include <algorithm>
#include <iterator>
#include <limits>
#include <map>
#include <numeric>
#include <set>
#include <utility>

namespace layrub::placement::pack {
namespace {

/// How many pairs of overlapping intervals all orders of one call together may look at.
constexpr int64_t kOrderBudget = 4'000'000;
/// How often one order may be changed.
constexpr int64_t kMaxRounds = 100;

using Order = std::vector<int32_t>;
/// For each interval the ones that share a moment with it.
using Neighbours = std::vector<std::vector<int32_t>>;

Order SortedBy(const std::vector<Interval>& intervals,
               bool (*before)(const Interval&, const Interval&)) {
  Order order(intervals.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](int32_t a, int32_t b) { return before(intervals[a], intervals[b]); });
  return order;
}

bool BeginsEarlier(const Interval& a, const Interval& b) { return a.begin < b.begin; }
bool EndsLater(const Interval& a, const Interval& b) { return a.end > b.end; }
bool IsLarger(const Interval& a, const Interval& b) { return a.bytes > b.bytes; }
bool LivesLonger(const Interval& a, const Interval& b) { return a.end - a.begin > b.end - b.begin; }
bool HasMoreArea(const Interval& a, const Interval& b) {
  return static_cast<double>(a.bytes) * (a.end - a.begin) >
         static_cast<double>(b.bytes) * (b.end - b.begin);
}

/// Goes through intervals in order of time.
class Sweep {
 public:
  /// Refers to `intervals`.
  explicit Sweep(const std::vector<Interval>& intervals)
      : intervals_(intervals), begins_(Sorted(&Interval::begin)), ends_(Sorted(&Interval::end)) {}

  /// Calls on_begin(i) and on_end(i), ends before begins of the same moment.
  template <typename OnBegin, typename OnEnd>
  void Run(OnBegin on_begin, OnEnd on_end) const {
    auto next_end = ends_.begin();
    for (const int32_t i : begins_) {
      for (; intervals_[*next_end].end <= intervals_[i].begin; ++next_end) on_end(*next_end);
      on_begin(i);
    }
  }

 private:
  Order Sorted(int32_t Interval::*time) const {
    std::vector<std::pair<int32_t, int32_t>> times;
    times.reserve(intervals_.size());
    for (const Interval& interval : intervals_) {
      times.emplace_back(interval.*time, static_cast<int32_t>(times.size()));
    }
    if (!std::is_sorted(times.begin(), times.end())) std::sort(times.begin(), times.end());
    Order order(times.size());
    std::transform(times.begin(), times.end(), order.begin(),
                   [](const auto& moment) { return moment.second; });
    return order;
  }

  const std::vector<Interval>& intervals_;
  const Order begins_;
  const Order ends_;
};

int64_t LargestSum(const std::vector<Interval>& intervals, const Sweep& sweep) {
  int64_t live = 0;
  int64_t largest = 0;
  sweep.Run(
      [&](int32_t i) {
        live += intervals[i].bytes;
        largest = std::max(largest, live);
      },
      [&](int32_t i) { live -= intervals[i].bytes; });
  return largest;
}

int64_t CountPairs(const Sweep& sweep) {
  int64_t live = 0;
  int64_t pairs = 0;
  sweep.Run([&](int32_t) { pairs += live++; }, [&](int32_t) { --live; });
  return pairs;
}

/// Best fit in order of time, like an allocator that serves one request after the other.
Packing PackInTime(const std::vector<Interval>& intervals, const Sweep& sweep) {
  Packing packing{std::vector<int64_t>(intervals.size()), 0};
  std::map<int64_t, int64_t> holes;                // offset -> bytes, below packing.bytes
  std::set<std::pair<int64_t, int64_t>> by_bytes;  // (bytes, offset) of the holes
  const auto remove = [&](std::map<int64_t, int64_t>::iterator hole) {
    by_bytes.erase({hole->second, hole->first});
    return holes.erase(hole);
  };
  const auto add = [&](int64_t offset, int64_t bytes) {
    if (bytes == 0) return;
    holes[offset] = bytes;
    by_bytes.insert({bytes, offset});
  };
  const auto take = [&](int32_t i) {
    const int64_t bytes = intervals[i].bytes;
    if (bytes == 0) return;
    int64_t offset = packing.bytes;
    if (const auto fit = by_bytes.lower_bound({bytes, 0}); fit != by_bytes.end()) {
      offset = fit->second;
      const int64_t left = fit->first - bytes;
      remove(holes.find(offset));
      add(offset + bytes, left);
    } else if (!holes.empty() &&
               std::prev(holes.end())->first + std::prev(holes.end())->second == packing.bytes) {
      offset = std::prev(holes.end())->first;  // the hole at the top grows to the size needed
      remove(std::prev(holes.end()));
    }
    packing.offsets[i] = offset;
    packing.bytes = std::max(packing.bytes, offset + bytes);
  };
  const auto give_back = [&](int32_t i) {
    int64_t begin = packing.offsets[i];
    int64_t end = begin + intervals[i].bytes;
    auto next = holes.lower_bound(begin);
    if (next != holes.end() && next->first == end) {
      end += next->second;
      next = remove(next);
    }
    if (next != holes.begin() && std::prev(next)->first + std::prev(next)->second == begin) {
      begin = std::prev(next)->first;
      remove(std::prev(next));
    }
    add(begin, end - begin);
  };
  sweep.Run(take, give_back);
  return packing;
}

/// Empty intervals have no neighbours.
Neighbours FindNeighbours(const std::vector<Interval>& intervals, const Sweep& sweep) {
  Neighbours neighbours(intervals.size());
  std::set<int32_t> live;
  sweep.Run(
      [&](int32_t i) {
        if (intervals[i].bytes == 0) return;
        for (const int32_t other : live) {
          neighbours[i].push_back(other);
          neighbours[other].push_back(i);
        }
        live.insert(i);
      },
      [&](int32_t i) { live.erase(i); });
  return neighbours;
}

/// Places intervals one by one, in any order, each into the tightest hole between those placed
/// before.
class Placer {
 public:
  Placer(const std::vector<Interval>& intervals, const Neighbours& neighbours)
      : intervals_(intervals), neighbours_(neighbours) {}

  Packing Place(const Order& order) {
    Packing packing{std::vector<int64_t>(intervals_.size(), kNowhere), 0};
    for (const int32_t i : order) {
      packing.offsets[i] = FindHole(i, packing);
      packing.bytes = std::max(packing.bytes, packing.offsets[i] + intervals_[i].bytes);
    }
    return packing;
  }

 private:
  int64_t FindHole(int32_t i, const Packing& packing) {
    taken_.clear();
    for (const int32_t other : neighbours_[i]) {
      const int64_t offset = packing.offsets[other];
      if (offset != kNowhere) taken_.push_back({offset, offset + intervals_[other].bytes});
    }
    std::sort(taken_.begin(), taken_.end());
    int64_t top = 0;
    int64_t best = kNowhere;
    int64_t best_bytes = std::numeric_limits<int64_t>::max();
    for (const auto& [begin, end] : taken_) {
      const int64_t hole = begin - top;
      if (hole >= intervals_[i].bytes && hole < best_bytes) {
        best = top;
        best_bytes = hole;
      }
      top = std::max(top, end);
    }
    return best == kNowhere ? top : best;
  }

  static constexpr int64_t kNowhere = -1;

  const std::vector<Interval>& intervals_;
  const Neighbours& neighbours_;
  std::vector<std::pair<int64_t, int64_t>> taken_;
};

/// Packs in `order`, then `rounds` times moves the intervals that end above `bound` to the front of
/// the order and packs again. Returns the smallest packing.
Packing Improve(const std::vector<Interval>& intervals, Placer* placer, Order order, int64_t bound,
                int64_t rounds) {
  Packing packing = placer->Place(order);
  Packing best = packing;
  for (int64_t round = 0; round < rounds && best.bytes > bound; ++round) {
    std::stable_partition(order.begin(), order.end(), [&](int32_t i) {
      return packing.offsets[i] + intervals[i].bytes > bound;
    });
    packing = placer->Place(order);
    if (packing.bytes < best.bytes) best = packing;
  }
  return best;
}

/// Best fit in several orders; returns `best` if none is better. `pairs`: the pairs that one
/// placement looks at.
Packing PackInOrders(const std::vector<Interval>& intervals, const Neighbours& neighbours,
                     int64_t pairs, int64_t bound, Packing best) {
  const std::vector<Order> orders{SortedBy(intervals, LivesLonger),
                                  SortedBy(intervals, HasMoreArea), SortedBy(intervals, IsLarger),
                                  SortedBy(intervals, BeginsEarlier),
                                  SortedBy(intervals, EndsLater)};
  int64_t placements = std::max<int64_t>(kOrderBudget / pairs, 1);
  const int64_t share = std::clamp<int64_t>(placements / 5, 1, kMaxRounds + 1);
  Placer placer(intervals, neighbours);
  for (const Order& order : orders) {
    if (best.bytes <= bound || placements < share) break;
    placements -= share;
    Packing packing = Improve(intervals, &placer, order, bound, share - 1);
    if (packing.bytes < best.bytes) best = std::move(packing);
  }
  return best;
}

Packing PackOthers(const std::vector<Interval>& intervals, int64_t enough) {
  if (intervals.empty()) return {};
  const Sweep sweep(intervals);
  Packing best = PackInTime(intervals, sweep);
  if (best.bytes <= enough) return best;
  const int64_t bound = std::max(LargestSum(intervals, sweep), enough);
  const int64_t pairs = 2 * CountPairs(sweep) + 16 * static_cast<int64_t>(intervals.size());
  if (best.bytes <= bound || pairs > kOrderBudget) return best;
  return PackInOrders(intervals, FindNeighbours(intervals, sweep), pairs, bound, std::move(best));
}

}  // namespace

int64_t LargestLiveSum(const std::vector<Interval>& intervals) {
  return LargestSum(intervals, Sweep(intervals));
}

Packing PackWhole(const std::vector<Interval>& intervals, std::vector<int32_t>* others) {
  Packing packing{std::vector<int64_t>(intervals.size()), 0};
  if (intervals.empty()) return packing;
  int32_t begin = intervals.front().begin;
  int32_t end = intervals.front().end;
  for (const Interval& interval : intervals) {
    begin = std::min(begin, interval.begin);
    end = std::max(end, interval.end);
  }
  for (int32_t i = 0; i < static_cast<int32_t>(intervals.size()); ++i) {
    if (intervals[i].begin == begin && intervals[i].end == end) {
      packing.offsets[i] = packing.bytes;
      packing.bytes += intervals[i].bytes;
    } else {
      others->push_back(i);
    }
  }
  return packing;
}

Packing Pack(const std::vector<Interval>& intervals, int64_t enough) {
  Order others;
  Packing packing = PackWhole(intervals, &others);
  std::vector<Interval> some;
  for (const int32_t i : others) some.push_back(intervals[i]);
  const Packing above = PackOthers(some, enough - packing.bytes);
  for (size_t i = 0; i < others.size(); ++i) {
    packing.offsets[others[i]] = packing.bytes + above.offsets[i];
  }
  packing.bytes += above.bytes;
  return packing;
}

}  // namespace layrub::placement::pack
