#include "layrub/placement/pack_search.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

#include "layrub/placement/almost_sorted.hpp"

namespace layrub {
namespace {

/// Whoever is among the last kFresh placed costs kFreshFactor times as much, or two would take each
/// other's place for ever.
constexpr int64_t kFresh = 2;
constexpr int64_t kFreshFactor = 10;
/// How many placements with ejections lie between two times of settling.
constexpr int64_t kSettlePeriod = 50;

}  // namespace

PackSearch::PackSearch(const std::vector<Interval>& intervals,
                       std::vector<std::vector<int32_t>> neighbours)
    : intervals_(intervals),
      neighbours_(std::move(neighbours)),
      offsets_(intervals.size(), kNowhere),
      lay_at_(intervals.size()),
      prices_(intervals.size(), 1),
      placed_at_(intervals.size(), -kFresh) {}

void PackSearch::Push(int32_t i, Waiting* waiting) const {
  const Interval& interval = intervals_[i];
  waiting->emplace(prices_[i],
                   static_cast<double>(interval.bytes) * (interval.end - interval.begin), i);
}

bool PackSearch::Fit(int64_t height, int64_t pairs) {
  Waiting waiting;
  for (int32_t i = 0; i < static_cast<int32_t>(intervals_.size()); ++i) {
    if (offsets_[i] != kNowhere && End(i) <= height) continue;
    offsets_[i] = kNowhere;
    Push(i, &waiting);
  }
  const int64_t enough = pairs_ + pairs;
  while (!waiting.empty() && pairs_ < enough) {
    const int32_t i = std::get<int32_t>(waiting.top());
    waiting.pop();
    const auto [offset, price] = CheapestOffset(i, height);
    if (price > 0) Eject(i, offset, &waiting);
    offsets_[i] = lay_at_[i] = offset;
    placed_at_[i] = placements_++;
    if (price == 0) continue;
    ++prices_[i];
    if (++ejections_ % kSettlePeriod == 0) Settle(height, ejections_ / kSettlePeriod % 2 == 1);
  }
  return waiting.empty();
}

Packing PackSearch::Result() {
  Settle(0, false);
  Packing packing{offsets_, 0};
  for (int32_t i = 0; i < static_cast<int32_t>(intervals_.size()); ++i) {
    packing.bytes = std::max(packing.bytes, End(i));
  }
  return packing;
}

/// At which offsets of `i`, up to `last`, it begins and ceases to be in the way of others.
void PackSearch::FindChanges(int32_t i, int64_t last) {
  rises_.clear();
  falls_.clear();
  // Little has moved since the last time, and whoever begins lower ends lower, more or less.
  SortAlmostSorted(&neighbours_[i], [this](int32_t other) { return lay_at_[other]; });
  for (const int32_t other : neighbours_[i]) {
    if (offsets_[other] == kNowhere || offsets_[other] - intervals_[i].bytes >= last) continue;
    const bool fresh = placements_ - placed_at_[other] <= kFresh;
    const int64_t price = prices_[other] * (fresh ? kFreshFactor : 1);
    rises_.push_back({offsets_[other] - intervals_[i].bytes, price});
    falls_.push_back({End(other), price});
  }
  pairs_ += static_cast<int64_t>(neighbours_[i].size()) + 1;
  SortAlmostSorted(&falls_, [](const Change& change) { return change.offset; });
}

/// Where it costs least to put `i`, and how much. Of several holes the tightest.
std::pair<int64_t, int64_t> PackSearch::CheapestOffset(int32_t i, int64_t height) {
  const int64_t last = height - intervals_[i].bytes;
  FindChanges(i, last);
  std::pair<int64_t, int64_t> best{0, std::numeric_limits<int64_t>::max()};
  int64_t best_room = std::numeric_limits<int64_t>::max();
  int64_t price = 0;
  auto rise = rises_.begin();
  auto fall = falls_.begin();
  // An interval is in the way strictly between its rise and its fall.
  for (int64_t offset = 0; offset <= last;) {
    for (; rise != rises_.end() && rise->offset < offset; ++rise) price += rise->price;
    for (; fall != falls_.end() && fall->offset <= offset; ++fall) price -= fall->price;
    const int64_t room = (rise == rises_.end() ? last : std::min(last, rise->offset)) - offset;
    if (price < best.second || (price == 0 && room < best_room)) {
      best = {offset, price};
      best_room = room;
    }
    if (offset == last) break;
    offset = fall == falls_.end() ? last : std::min(last, fall->offset);
  }
  return best;
}

void PackSearch::Eject(int32_t i, int64_t offset, Waiting* waiting) {
  for (const int32_t other : neighbours_[i]) {
    if (offsets_[other] == kNowhere || offsets_[other] >= offset + intervals_[i].bytes ||
        End(other) <= offset) {
      continue;
    }
    offsets_[other] = kNowhere;
    Push(other, waiting);
  }
}

/// Pushes everything down to the bottom, or up to `height`, as far as it goes.
void PackSearch::Settle(int64_t height, bool up) {
  std::vector<int32_t> order;
  for (int32_t i = 0; i < static_cast<int32_t>(intervals_.size()); ++i) {
    if (offsets_[i] != kNowhere) order.push_back(i);
  }
  std::stable_sort(order.begin(), order.end(), [&](int32_t a, int32_t b) {
    return up ? End(a) > End(b) : offsets_[a] < offsets_[b];
  });
  std::vector<int64_t> limits(intervals_.size(), up ? height : 0);
  for (const int32_t i : order) {
    offsets_[i] = lay_at_[i] = up ? limits[i] - intervals_[i].bytes : limits[i];
    for (const int32_t other : neighbours_[i]) {
      limits[other] = up ? std::min(limits[other], offsets_[i]) : std::max(limits[other], End(i));
    }
    pairs_ += static_cast<int64_t>(neighbours_[i].size()) / 4;  // no sorting: about as much cheaper
  }
}

}  // namespace layrub
