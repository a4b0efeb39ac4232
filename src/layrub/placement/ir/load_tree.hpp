#ifndef LAYRUB_PLACEMENT_IR_LOAD_TREE_HPP_
#define LAYRUB_PLACEMENT_IR_LOAD_TREE_HPP_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "layrub/placement/ir/program.hpp"

namespace layrub::placement {

/// A number of bytes for each run. Adds to a range of runs, and finds the last run of a range above
/// a limit, each in logarithmic time.
class LoadTree {
 public:
  explicit LoadTree(const std::vector<int64_t>& values) {
    while (leaves_ < values.size()) leaves_ *= 2;
    most_.assign(2 * leaves_, 0);
    added_.assign(2 * leaves_, 0);
    std::copy(values.begin(), values.end(), most_.begin() + static_cast<int64_t>(leaves_));
    for (size_t i = leaves_ - 1; i > 0; --i) most_[i] = std::max(most_[2 * i], most_[2 * i + 1]);
  }

  /// Adds `bytes` to each run of [begin, end).
  void Add(RunId begin, RunId end, int64_t bytes) { Add(1, 0, leaves_, begin, end, bytes); }

  /// The last run in [begin, end) with more than `limit`; kNone if there is none.
  RunId LastAbove(RunId begin, RunId end, int64_t limit) const {
    return LastAbove(1, 0, leaves_, begin, end, limit);
  }

 private:
  void Add(size_t node, size_t from, size_t to, size_t begin, size_t end, int64_t bytes) {
    if (end <= from || to <= begin) return;
    if (begin <= from && to <= end) {
      most_[node] += bytes;
      added_[node] += bytes;
      return;
    }
    const size_t middle = (from + to) / 2;
    Add(2 * node, from, middle, begin, end, bytes);
    Add(2 * node + 1, middle, to, begin, end, bytes);
    most_[node] = std::max(most_[2 * node], most_[2 * node + 1]) + added_[node];
  }

  RunId LastAbove(size_t node, size_t from, size_t to, size_t begin, size_t end,
                  int64_t limit) const {
    if (end <= from || to <= begin || most_[node] <= limit) return kNone;
    if (to - from == 1) return static_cast<RunId>(from);
    const size_t middle = (from + to) / 2;
    limit -= added_[node];
    const RunId right = LastAbove(2 * node + 1, middle, to, begin, end, limit);
    return right != kNone ? right : LastAbove(2 * node, from, middle, begin, end, limit);
  }

  size_t leaves_ = 1;
  std::vector<int64_t> most_;  ///< by node: the largest value in its subtree
  std::vector<int64_t>
      added_;  ///< by node: bytes added to its whole subtree, counted in its own most_
};

}  // namespace layrub::placement

#endif  // LAYRUB_PLACEMENT_IR_LOAD_TREE_HPP_
