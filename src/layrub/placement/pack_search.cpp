#include "layrub/placement/pack_search.hpp"

#include <algorithm>
#include <limits>

#include "layrub/placement/almost_sorted.hpp"

namespace layrub {
namespace {

/// The last one placed costs this many times as much, or two would take each other's place for
/// ever.
constexpr int64_t kFreshFactor = 2;
/// How many looks it takes to compare prices with one that is near, and to push one.
constexpr int64_t kLooksToCompare = 8;
constexpr int64_t kLooksToPush = 8;
/// Pushing apart may take at most this many times as much as what has been done since the last
/// time.
constexpr int64_t kPushShare = 10;
/// How many looks at each pair of intervals a try may take before it begins anew. For hundreds of
/// intervals that is more than anybody gives it.
constexpr int64_t kPatience = 1500;

/// The moments at which something begins, but for those at which nothing lives that does not live
/// at the next one too.
std::vector<int32_t> FullestMoments(const std::vector<Interval>& intervals) {
  std::vector<int32_t> begins, ends, moments;
  for (const Interval& interval : intervals) {
    begins.push_back(interval.begin);
    ends.push_back(interval.end);
  }
  std::sort(begins.begin(), begins.end());
  std::sort(ends.begin(), ends.end());
  auto end = ends.begin();
  for (auto begin = begins.begin(); begin != begins.end(); ++begin) {
    const auto next = begin + 1;
    while (*end <= *begin) ++end;
    if (next == begins.end() || (*end <= *next && *begin < *next)) moments.push_back(*begin);
  }
  return moments;
}

}  // namespace

PackSearch::PackSearch(const std::vector<Interval>& intervals)
    : intervals_(intervals),
      offsets_(intervals.size(), kNowhere),
      lay_at_(intervals.size()),
      prices_(intervals.size(), 1),
      near_(intervals.size()) {
  const std::vector<int32_t> moments = FullestMoments(intervals);
  levels_.resize(moments.size());
  const auto number = [&](int32_t time) {
    const auto moment = std::lower_bound(moments.begin(), moments.end(), time);
    return static_cast<int32_t>(moment - moments.begin());
  };
  for (int32_t i = 0; i < static_cast<int32_t>(intervals.size()); ++i) {
    const Span span{number(intervals[i].begin), number(intervals[i].end), i};
    if (intervals[i].bytes > 0) {
      by_middle_.push_back(span);
      push_looks_ += kLooksToPush + span.end - span.begin;
    } else {
      offsets_[i] = 0;
    }
    spans_.push_back(span);
  }
}

void PackSearch::Push(int32_t i, Waiting* waiting) const {
  const Interval& interval = intervals_[i];
  waiting->emplace(prices_[i],
                   static_cast<double>(interval.bytes) * (interval.end - interval.begin), i);
}

bool PackSearch::Fit(int64_t height, int64_t looks) {
  const auto count = static_cast<int64_t>(by_middle_.size());
  const int64_t enough = looks_ + looks;
  while (!TryToFit(height, std::min(enough, looks_ + kPatience * count * count))) {
    if (looks_ >= enough) return false;
    for (const Span& span : by_middle_) offsets_[span.interval] = kNowhere;
  }
  return true;
}

/// Goes on from where everything lies, until there have been so many looks in all.
bool PackSearch::TryToFit(int64_t height, int64_t looks) {
  Waiting waiting;
  for (const Span& span : by_middle_) {
    const int32_t i = span.interval;
    if (offsets_[i] != kNowhere && End(i) <= height) continue;
    offsets_[i] = kNowhere;
    Push(i, &waiting);
  }
  while (!waiting.empty() && looks_ < looks) {
    const int32_t i = std::get<int32_t>(waiting.top());
    waiting.pop();
    const auto [offset, price] = CheapestOffset(i, height);
    if (price > 0) Eject(i, offset, &waiting);
    offsets_[i] = lay_at_[i] = offset;
    last_placed_ = i;
    if (price == 0) continue;
    ++prices_[i];
    if ((looks_ - pushed_at_) * kPushShare >= push_looks_) PushApart(Middle(i), height);
  }
  return waiting.empty();
}

Packing PackSearch::Result() {
  PushApart(std::numeric_limits<int64_t>::max(), 0);
  Packing packing{offsets_, 0};
  for (int32_t i = 0; i < static_cast<int32_t>(intervals_.size()); ++i) {
    packing.bytes = std::max(packing.bytes, End(i));
  }
  return packing;
}

/// Fills near_ with all that share a moment with `i`, lower ones first, more or less; how many.
size_t PackSearch::FindNear(int32_t i) {
  const Span own = spans_[i];
  size_t count = 0;
  for (const Span& other : by_middle_) {
    near_[count] = other.interval;
    count += static_cast<size_t>((other.begin < own.end) & (own.begin < other.end));
  }
  looks_ += static_cast<int64_t>(by_middle_.size() + kLooksToCompare * count);
  return count;
}

/// At which offsets of `i`, up to `last`, it begins and ceases to be in the way of others.
void PackSearch::FindChanges(int32_t i, int64_t last) {
  rises_.clear();
  falls_.clear();
  const size_t count = FindNear(i);
  for (size_t k = 0; k < count; ++k) {
    const int32_t other = near_[k];
    if (offsets_[other] == kNowhere || offsets_[other] - intervals_[i].bytes >= last) continue;
    const int64_t price = prices_[other] * (other == last_placed_ ? kFreshFactor : 1);
    rises_.push_back({offsets_[other] - intervals_[i].bytes, price});
    falls_.push_back({End(other), price});
  }
  const auto offset = [](const Change& change) { return change.offset; };
  SortAlmostSorted(&rises_, offset);
  SortAlmostSorted(&falls_, offset);
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

/// Takes out what overlaps the bytes of `i` at `offset`.
void PackSearch::Eject(int32_t i, int64_t offset, Waiting* waiting) {
  for (const Span& span : by_middle_) {
    const int32_t other = span.interval;
    if (offsets_[other] == kNowhere || offsets_[other] >= offset + intervals_[i].bytes ||
        End(other) <= offset || span.begin >= spans_[i].end || span.end <= spans_[i].begin) {
      continue;
    }
    offsets_[other] = kNowhere;
    Push(other, waiting);
  }
}

/// Puts something of this span on what has been stacked at its moments; how high that is.
int64_t PackSearch::Stack(const Span& span) {
  int64_t level = 0;
  int64_t odd = 0;  // two maxima at a time
  int32_t moment = span.begin;
  for (; moment + 1 < span.end; moment += 2) {
    level = std::max(level, levels_[moment]);
    odd = std::max(odd, levels_[moment + 1]);
  }
  if (moment < span.end) odd = std::max(odd, levels_[moment]);
  level = std::max(level, odd);
  std::fill(levels_.begin() + span.begin, levels_.begin() + span.end,
            level + intervals_[span.interval].bytes);
  return level;
}

/// Pushes what lies lower than `middle` down to the bottom, the rest up to `height`.
void PackSearch::PushApart(int64_t middle, int64_t height) {
  SortAlmostSorted(&by_middle_, [this](const Span& span) { return Middle(span.interval); });
  const auto upper =
      std::lower_bound(by_middle_.begin(), by_middle_.end(), middle,
                       [this](const Span& span, int64_t m) { return Middle(span.interval) < m; });
  std::fill(levels_.begin(), levels_.end(), 0);
  for (auto span = by_middle_.begin(); span != upper; ++span) {
    const int32_t i = span->interval;
    if (offsets_[i] != kNowhere) offsets_[i] = lay_at_[i] = Stack(*span);
  }
  std::fill(levels_.begin(), levels_.end(), 0);
  for (auto span = by_middle_.end(); span != upper;) {
    const int32_t i = (--span)->interval;
    if (offsets_[i] == kNowhere) continue;
    offsets_[i] = lay_at_[i] = height - Stack(*span) - intervals_[i].bytes;
  }
  looks_ += push_looks_;
  pushed_at_ = looks_;
}

}  // namespace layrub
