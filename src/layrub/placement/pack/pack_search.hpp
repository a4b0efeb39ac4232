#ifndef LAYRUB_PLACEMENT_PACK_PACK_SEARCH_HPP_
#define LAYRUB_PLACEMENT_PACK_PACK_SEARCH_HPP_

#include <cstdint>
#include <queue>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "layrub/placement/pack/pack.hpp"

namespace layrub::placement::pack {

/// Looks for packings below a given height by guided ejection: what finds no hole takes the place
/// of what is cheapest to take out again, and each time that this happens to an interval it gets
/// dearer itself (Nagata and Braysy, "A powerful route minimization heuristic for the vehicle
/// routing problem with time windows", 2009, section 3). Then, unless that was done just before,
/// what lies lower is pushed to the bottom and the rest to the top: what room there is comes
/// together where it was short. What takes long for so few begins anew with the prices reached.
/// Deterministic.
class PackSearch {
 public:
  explicit PackSearch(std::vector<Interval> intervals);

  /// Goes on from where the call before ended and tries to place everything below `height`, which
  /// is no less than the largest interval. Gives up after about `looks` looks at one interval.
  bool Fit(int64_t height, int64_t looks);
  /// After Fit was true: everything, as low as it falls.
  Packing Result();
  /// How many looks there have been: a nanosecond each, more or less.
  int64_t looks() const { return looks_; }

 private:
  static constexpr int64_t kNowhere = -1;

  /// An interval and when it lives, in numbers of moments.
  struct Span {
    int32_t begin;
    int32_t end;
    int32_t interval;
    int64_t middle;  ///< Middle(interval) when PushApart last looked
  };
  /// From this offset on a sum of prices changes.
  struct Change {
    int64_t offset;
    int64_t price;
  };
  /// Sorted by what is placed first: price, size times duration, index.
  using Waiting = std::priority_queue<std::tuple<int64_t, double, int32_t>>;

  int64_t End(int32_t i) const { return offsets_[i] + intervals_[i].bytes; }
  /// Twice the offset in the middle of where `i` lies, or lay last.
  int64_t Middle(int32_t i) const { return 2 * lay_at_[i] + intervals_[i].bytes; }
  bool TryToFit(int64_t height, int64_t looks);
  void Push(int32_t i, Waiting* waiting) const;
  void FindNear(int32_t i);
  void FindChanges(int32_t i, int64_t last);
  std::pair<int64_t, int64_t> CheapestOffset(int32_t i, int64_t height);
  void Eject(int32_t i, int64_t offset, Waiting* waiting);
  int64_t Stack(const Span& span);
  void PushApart(int64_t middle, int64_t height);

  std::vector<Interval> intervals_;
  std::vector<int64_t> offsets_;
  std::vector<int64_t> lay_at_;  ///< the last offset that was not kNowhere
  std::vector<int64_t> prices_;  ///< of taking an interval out: 1 + how often it had to do so
  std::vector<Change> rises_, falls_;
  std::vector<int32_t> all_near_;  ///< where near_ lies
  std::span<const int32_t> near_;  ///< see FindNear
  std::vector<Span> spans_;
  std::vector<Span> by_middle_;  ///< all that have bytes, in the order that PushApart left them in
  /// How high is stacked at each moment; exact, and processors compare doubles side by side.
  std::vector<double> levels_;
  int64_t push_looks_ = 0;  ///< what PushApart takes
  int32_t last_placed_ = -1;
  int64_t pushed_at_ = 0;  ///< looks_ when PushApart last ended
  int64_t looks_ = 0;
};

}  // namespace layrub::placement::pack

#endif  // LAYRUB_PLACEMENT_PACK_PACK_SEARCH_HPP_
