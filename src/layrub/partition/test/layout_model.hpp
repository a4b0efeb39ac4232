#ifndef LAYRUB_PARTITION_TEST_LAYOUT_MODEL_HPP_
#define LAYRUB_PARTITION_TEST_LAYOUT_MODEL_HPP_

#include <rapidcheck.h>

#include <cstdint>
#include <functional>
#include <map>
#include <numeric>
#include <vector>

#include "layrub/partition/layout.hpp"

// What layouts mean, number by number: an independent definition for tests.

namespace layrub::testing {

using Array = std::vector<int64_t>;

inline int64_t Product(const std::vector<int64_t>& dims) {
  return std::accumulate(dims.begin(), dims.end(), int64_t{1}, std::multiplies<>());
}

inline int Half(const Layout& layout, size_t level, int rank) {
  return (rank >> (layout.levels.size() - 1 - level)) & 1;
}

/// Whether a device has index `i` of dimension `d`. Halves the joined array that has i once for
/// each level that cuts it.
inline bool Has(const Layout& layout, int d, int64_t i, int rank) {
  int64_t begin = 0, end = layout.dims[d];
  if (d < static_cast<int>(layout.joined.size()) && !layout.joined[d].empty()) {
    for (const int64_t size : layout.joined[d]) {
      end = begin + size;
      if (i < end) break;
      begin = end;
    }
  }
  for (size_t level = 0; level < layout.levels.size(); ++level) {
    if (layout.levels[level] != Cut(d)) continue;
    const int64_t middle = (begin + end) / 2;
    (Half(layout, level, rank) == 0 ? end : begin) = middle;
  }
  return begin <= i && i < end;
}

/// For each number of the whole array, in order, its index in what a device has; -1: the device
/// does not have it.
inline Array Places(const Layout& layout, int rank) {
  Array places;
  int64_t next = 0;
  for (int64_t n = 0; n < Product(layout.dims); ++n) {
    int64_t rest = n;
    bool has = true;
    for (int d = static_cast<int>(layout.dims.size()) - 1; d >= 0; --d) {
      has = has && Has(layout, d, rest % layout.dims[d], rank);
      rest /= layout.dims[d];
    }
    places.push_back(has ? next++ : -1);
  }
  return places;
}

/// Returns what each device has of `value`. Summands are arbitrary, but add up to it.
inline std::vector<Array> Spread(const Layout& layout, const Array& value) {
  std::vector<Array> all;
  for (int rank = 0; rank < layout.devices(); ++rank) {
    Array own;
    for (const int64_t number : value) {
      int64_t part = number;
      int64_t seed = 1;
      for (size_t level = 0; level < layout.levels.size(); ++level) {
        seed = 31 * seed + (layout.levels[level] == Part() ? 0 : Half(layout, level, rank));
        if (layout.levels[level] != Part()) continue;
        const int64_t first = part / 2 + seed % 7;
        part = Half(layout, level, rank) == 0 ? first : part - first;
        seed = 31 * seed + Half(layout, level, rank);
      }
      own.push_back(part);
    }
    all.push_back(own);
  }
  // Cut out what each has. This comes last because summands differ between devices with different
  // bits on levels that are cut.
  std::vector<Array> result;
  for (int rank = 0; rank < layout.devices(); ++rank) {
    const Array places = Places(layout, rank);
    Array own;
    for (size_t n = 0; n < value.size(); ++n) {
      if (places[n] >= 0) own.push_back(all[rank][n]);
    }
    result.push_back(own);
  }
  return result;
}

/// Returns the value that the devices have together, or nothing if two of them disagree.
inline Array Together(const Layout& layout, const std::vector<Array>& parts) {
  const size_t count = static_cast<size_t>(Product(layout.dims));
  Array value;
  for (size_t n = 0; n < count; ++n) {
    // Sums by the bits of the levels that are no sum. All must be equal.
    std::map<int, int64_t> sums;
    for (int rank = 0; rank < layout.devices(); ++rank) {
      int others = rank;
      for (size_t level = 0; level < layout.levels.size(); ++level) {
        if (layout.levels[level] == Part()) others &= ~(1 << (layout.levels.size() - 1 - level));
      }
      const int64_t place = Places(layout, rank)[n];
      if (place >= 0) sums[others] += parts[rank].at(place);
    }
    if (sums.empty()) return {};
    for (const auto& sum : sums) {
      if (sum.second != sums.begin()->second) return {};
    }
    value.push_back(sums.begin()->second);
  }
  return value;
}

/// An arbitrary layout, with sums on some levels if `sums`.
inline Layout ArbitraryLayout(const std::vector<int64_t>& dims,
                              const std::vector<std::vector<int64_t>>& joined, int levels,
                              bool sums) {
  Layout layout{dims, joined, {}};
  for (int level = 0; level < levels; ++level) {
    std::vector<Level> choices{Whole(), PartGradient()};
    if (sums) choices.push_back(Part());
    for (int d = 0; d < static_cast<int>(dims.size()); ++d) {
      if (CanCut(layout, d, 2 * Parts(layout, d))) choices.push_back(Cut(d));
    }
    layout.levels.push_back(*rc::gen::elementOf(choices));
  }
  return layout;
}

}  // namespace layrub::testing

#endif  // LAYRUB_PARTITION_TEST_LAYOUT_MODEL_HPP_
