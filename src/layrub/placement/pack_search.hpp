#ifndef LAYRUB_PLACEMENT_PACK_SEARCH_HPP_
#define LAYRUB_PLACEMENT_PACK_SEARCH_HPP_

#include <cstdint>
#include <queue>
#include <tuple>
#include <utility>
#include <vector>

#include "layrub/placement/pack.hpp"

namespace layrub {

/// Looks for packings below a given height by guided ejection: what finds no hole takes the place
/// of what is cheapest to take out again, and each time that this happens to an interval it gets
/// dearer itself (Nagata and Braysy, "A powerful route minimization heuristic for the vehicle
/// routing problem with time windows", 2009, section 3). Every now and then all that lies is pushed
/// to the bottom or to the top, so that small holes become large ones. Deterministic.
class PackSearch {
 public:
  /// `neighbours`: for each interval those that share a moment with it; none of or with intervals
  /// of no bytes. `intervals` must outlive the search.
  PackSearch(const std::vector<Interval>& intervals, std::vector<std::vector<int32_t>> neighbours);

  /// Goes on from where the call before ended and tries to place everything below `height`, which
  /// is no less than the largest interval; looks at not many more than `pairs` pairs of neighbours.
  bool Fit(int64_t height, int64_t pairs);
  /// After Fit was true: everything, as low as it falls.
  Packing Result();
  /// How many pairs have been looked at.
  int64_t pairs() const { return pairs_; }

 private:
  static constexpr int64_t kNowhere = -1;

  /// From this offset on a sum of prices changes.
  struct Change {
    int64_t offset;
    int64_t price;
  };
  /// Sorted by what is placed first: price, size times duration, index.
  using Waiting = std::priority_queue<std::tuple<int64_t, double, int32_t>>;

  int64_t End(int32_t i) const { return offsets_[i] + intervals_[i].bytes; }
  void Push(int32_t i, Waiting* waiting) const;
  void FindChanges(int32_t i, int64_t last);
  std::pair<int64_t, int64_t> CheapestOffset(int32_t i, int64_t height);
  void Eject(int32_t i, int64_t offset, Waiting* waiting);
  void Settle(int64_t height, bool up);

  const std::vector<Interval>& intervals_;
  std::vector<std::vector<int32_t>> neighbours_;  ///< each in the order that FindChanges left it in
  std::vector<int64_t> offsets_;
  std::vector<int64_t> lay_at_;     ///< the last offset that was not kNowhere
  std::vector<int64_t> prices_;     ///< of taking an interval out: 1 + how often it had to do so
  std::vector<int64_t> placed_at_;  ///< number of placements before
  std::vector<Change> rises_, falls_;
  int64_t placements_ = 0;
  int64_t ejections_ = 0;
  int64_t pairs_ = 0;
};

}  // namespace layrub

#endif  // LAYRUB_PLACEMENT_PACK_SEARCH_HPP_
