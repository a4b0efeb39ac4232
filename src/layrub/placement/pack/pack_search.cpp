#include "layrub/placement/pack/pack_search.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include "layrub/placement/pack/almost_sorted.hpp"

namespace layrub::placement::pack {
namespace {

/// The last one placed costs this many times as much, or two would take each other's place for
/// ever.
constexpr int64_t kFreshFactor = 2;
/// How many looks it takes to compare prices with one that is near, and to push one; and at how
/// many moments a push looks in the time of one look.
constexpr int64_t kLooksToCompare = 13;
constexpr int64_t kLooksToPush = 3;
constexpr int32_t kMomentsInOne = 3;
/// After pushing apart, so many times as much is done before the next time.
constexpr int64_t kPushRest = 3;
/// How many looks at each pair of intervals a try may take before it begins anew. For hundreds of
/// intervals that is more than anybody gives it.
constexpr int64_t kPatience = 900;

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

PackSearch::PackSearch(std::vector<Interval> intervals)
    : intervals_(std::move(intervals)),
      offsets_(intervals_.size(), kNowhere),
      lay_at_(intervals_.size()),
      prices_(intervals_.size(), 1),
      all_near_(intervals_.size()) {
  const std::vector<int32_t> moments = FullestMoments(intervals_);
  levels_.resize(moments.size());
  const auto number = [&](int32_t time) {
    const auto moment = std::lower_bound(moments.begin(), moments.end(), time);
    return static_cast<int32_t>(moment - moments.begin());
  };
  for (int32_t i = 0; i < static_cast<int32_t>(intervals_.size()); ++i) {
    const Span span{number(intervals_[i].begin), number(intervals_[i].end), i, 0};
    if (intervals_[i].bytes > 0) {
      by_middle_.push_back(span);
      push_looks_ += kLooksToPush + (span.end - span.begin) / kMomentsInOne;
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
    if (looks_ - pushed_at_ >= kPushRest * push_looks_) PushApart(Middle(i), height);
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

/// Fills near_ with all that share a moment with `i`, lower ones first, more or less.
void PackSearch::FindNear(int32_t i) {
  const Span own = spans_[i];
  size_t count = 0;
  for (const Span& other : by_middle_) {
    all_near_[count] = other.interval;
    count += static_cast<size_t>((other.begin < own.end) & (own.begin < other.end));
  }
  near_ = {all_near_.data(), count};
  looks_ += static_cast<int64_t>(by_middle_.size() + kLooksToCompare * count);
}

/// At which offsets of `i`, up to `last`, it begins and ceases to be in the way of others.
void PackSearch::FindChanges(int32_t i, int64_t last) {
  rises_.clear();
  falls_.clear();
  FindNear(i);
  for (const int32_t other : near_) {
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

/// Takes out what overlaps the bytes of `i` at `offset`; near_ is for `i`.
void PackSearch::Eject(int32_t i, int64_t offset, Waiting* waiting) {
  for (const int32_t other : near_) {
    if (offsets_[other] == kNowhere || offsets_[other] >= offset + intervals_[i].bytes ||
        End(other) <= offset) {
      continue;
    }
    offsets_[other] = kNowhere;
    Push(other, waiting);
  }
}

/// Puts something of this span on what has been stacked at its moments; how high that is.
int64_t PackSearch::Stack(const Span& span) {
  const auto begin = levels_.begin() + span.begin, end = levels_.begin() + span.end;
  std::array<double, 4> most{};  // maxima that do not wait for one another
  auto level = begin;
  for (; end - level >= 4; level += 4) {
    for (int i = 0; i < 4; ++i) most[i] = most[i] < level[i] ? level[i] : most[i];
  }
  for (; level != end; ++level) most[0] = std::max(most[0], *level);
  const double highest = *std::max_element(most.begin(), most.end());
  std::fill(begin, end, highest + static_cast<double>(intervals_[span.interval].bytes));
  return static_cast<int64_t>(highest);
}

/// Pushes what lies lower than `middle` down to the bottom, the rest up to `height`.
void PackSearch::PushApart(int64_t middle, int64_t height) {
  for (Span& span : by_middle_) span.middle = Middle(span.interval);
  SortAlmostSorted(&by_middle_, [](const Span& span) { return span.middle; });
  const auto upper = std::lower_bound(by_middle_.begin(), by_middle_.end(), middle,
                                      [](const Span& span, int64_t m) { return span.middle < m; });
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

}  // namespace layrub::placement::pack
