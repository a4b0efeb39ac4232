#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <numeric>

#include "layrub/partition/test/layout_model.hpp"

namespace layrub {
namespace {

// NOLINTNEXTLINE(build/namespaces)
using namespace testing;

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
