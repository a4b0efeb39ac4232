#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <functional>
#include <map>
#include <numeric>

#include "layrub/partition/layout.hpp"

namespace layrub {
namespace {

using Array = std::vector<int64_t>;

int64_t Product(const std::vector<int64_t>& dims) {
  return std::accumulate(dims.begin(), dims.end(), int64_t{1}, std::multiplies<>());
}

int Half(const Layout& layout, size_t level, int rank) {
  return (rank >> (layout.levels.size() - 1 - level)) & 1;
}

/// Whether a device has index `i` of dimension `d`. Halves the joined array that has i once for
/// each level that cuts it.
bool Has(const Layout& layout, int d, int64_t i, int rank) {
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
Array Places(const Layout& layout, int rank) {
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
std::vector<Array> Spread(const Layout& layout, const Array& value) {
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
Array Together(const Layout& layout, const std::vector<Array>& parts) {
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

std::vector<Array> Carry(const Layout& from, const Layout& to, const std::vector<Array>& parts) {
  std::vector<Array> result;
  for (int rank = 0; rank < to.devices(); ++rank)
    result.emplace_back(static_cast<size_t>(Product(LocalDims(to))));
  for (const Transfer& transfer : Transfers(from, to)) {
    const std::vector<int64_t> from_dims = LocalDims(from), to_dims = LocalDims(to);
    std::vector<std::pair<int64_t, int64_t>> indices{{0, 0}};
    for (size_t d = 0; d < from_dims.size(); ++d) {
      std::vector<std::pair<int64_t, int64_t>> longer;
      for (const auto& [a, b] : indices) {
        for (const Run& run : transfer.runs[d]) {
          for (int64_t i = 0; i < run.count; ++i)
            longer.emplace_back(a * from_dims[d] + run.from + i, b * to_dims[d] + run.to + i);
        }
      }
      indices = longer;
    }
    RC_ASSERT(static_cast<int64_t>(indices.size()) == Count(transfer));
    for (const auto& [a, b] : indices) result[transfer.to].at(b) += parts[transfer.from].at(a);
  }
  return result;
}

Layout ArbitraryLayout(const std::vector<int64_t>& dims,
                       const std::vector<std::vector<int64_t>>& joined, int levels, bool sums) {
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

TEST(Layout, TransfersBetweenAnyTwoLayoutsKeepTheValue) {
  EXPECT_TRUE(rc::check([] {
    const int levels = *rc::gen::inRange(1, 4);
    std::vector<std::vector<int64_t>> joined{{}, {4, 8}};
    const std::vector<int64_t> dims{*rc::gen::element<int64_t>(1, 2, 4, 8, 6), 12,
                                    *rc::gen::element<int64_t>(1, 3, 4)};
    if (*rc::gen::arbitrary<bool>()) joined.clear();
    const Layout from = ArbitraryLayout(dims, joined, levels, true);
    const Layout to = ArbitraryLayout(dims, joined, levels, true);
    Array value(static_cast<size_t>(Product(dims)));
    std::iota(value.begin(), value.end(), 1);
    std::vector<Array> parts = Spread(from, value);
    RC_ASSERT(Together(from, parts) == value);
    const std::vector<Layout> stages = Stages(from, to);
    RC_ASSERT(stages.front() == from);
    RC_ASSERT(stages.back() == to);
    for (size_t i = 0; i + 1 < stages.size(); ++i) parts = Carry(stages[i], stages[i + 1], parts);
    RC_ASSERT(Together(to, parts) == value);
  }));
}

TEST(Layout, RangesOfADeviceAreThoseOfRepeatedHalving) {
  EXPECT_TRUE(rc::check([] {
    const std::vector<int64_t> dims{8, 12};
    const Layout layout = ArbitraryLayout(dims, {{}, {4, 8}}, 3, true);
    for (int rank = 0; rank < layout.devices(); ++rank) {
      for (int d = 0; d < 2; ++d) {
        std::vector<Range> ranges = RangesOf(layout, d, rank);
        int64_t count = 0;
        for (int64_t i = 0; i < dims[d]; ++i) {
          bool inside = false;
          for (const Range& range : ranges) inside |= range.begin <= i && i < range.end;
          RC_ASSERT(inside == Has(layout, d, i, rank));
          count += inside;
        }
        RC_ASSERT(count == LocalDims(layout)[d]);
      }
    }
  }));
}

Layout OfOneLevel(Level level) { return {{8, 6}, {}, {level}}; }

TEST(MaxReceived, CountsWhatADeviceDoesNotHaveYet) {
  const auto received = [](Level from, Level to) {
    return MaxReceived(OfOneLevel(from), OfOneLevel(to));
  };
  EXPECT_EQ(0, received(Cut(0), Cut(0)));
  EXPECT_EQ(12, received(Cut(0), Cut(1)));
  EXPECT_EQ(24, received(Cut(0), Whole()));
  EXPECT_EQ(24, received(Part(), Cut(1)));
  EXPECT_EQ(48, received(Part(), Whole()));  // half of the sums, then the other half
  EXPECT_EQ(0, received(Whole(), Cut(0)));
  EXPECT_EQ(0, received(PartGradient(), Part()));
}

TEST(MaxReceived, IsLessThanTwiceTheArrayForASum) {
  const Layout part{{64, 6}, {}, {Part(), Part(), Part()}};
  const Layout whole{{64, 6}, {}, {Whole(), Whole(), Whole()}};
  EXPECT_EQ(2 * 64 * 6 * 7 / 8, MaxReceived(part, whole));
}

}  // namespace
}  // namespace layrub
