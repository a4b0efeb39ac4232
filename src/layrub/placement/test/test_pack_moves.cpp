#include "layrub/placement/pack_moves.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <array>
#include <random>
#include <vector>

namespace layrub {
namespace {

/// Bytes [offset, offset + bytes) from `begin` until just before `end`.
struct Box {
  int32_t begin, end;
  int64_t offset, bytes;
};

/// Where everything lies when: an interval lies where it lay last until its shift, and at that
/// moment in both places.
std::vector<Box> Boxes(const std::vector<Interval>& intervals, const MovingPacking& packing) {
  std::vector<Box> boxes;
  for (size_t i = 0; i < intervals.size(); ++i) {
    Box box{intervals[i].begin, intervals[i].end, packing.packing.offsets[i], intervals[i].bytes};
    for (const Shift& shift : packing.shifts) {
      if (shift.interval != static_cast<int32_t>(i)) continue;
      boxes.push_back({box.begin, shift.at + 1, box.offset, box.bytes});
      box.begin = shift.at;
      box.offset = shift.offset;
    }
    boxes.push_back(box);
  }
  return boxes;
}

bool Collide(const Box& a, const Box& b) {
  return a.begin < b.end && b.begin < a.end && a.offset < b.offset + b.bytes &&
         b.offset < a.offset + a.bytes;
}

bool IsCorrect(const std::vector<Interval>& intervals, const MovingPacking& packing,
               int64_t enough) {
  const std::vector<Box> boxes = Boxes(intervals, packing);
  if (packing.packing.bytes > enough) return false;
  for (size_t a = 0; a < boxes.size(); ++a) {
    if (boxes[a].offset < 0 || boxes[a].offset + boxes[a].bytes > packing.packing.bytes)
      return false;
    for (size_t b = 0; b < a; ++b) {
      if (Collide(boxes[a], boxes[b])) return false;
    }
  }
  return true;
}

TEST(PackMoving, SaysNothingWhereMoreBytesLiveThanThereAre) {
  EXPECT_FALSE(PackMoving({{2, 0, 2}, {2, 1, 3}}, std::vector<Movable>(2), {1}, 3).has_value());
}

TEST(PackMoving, LeavesWhatLivesAllTheTimeAtTheBottom) {
  const auto found = PackMoving({{3, 2, 4}, {2, 0, 9}, {1, 0, 9}}, std::vector<Movable>(3), {}, 6);
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->packing.offsets, (std::vector<int64_t>{3, 0, 2}));
  EXPECT_TRUE(found->shifts.empty());
}

struct Instance {
  std::vector<Interval> intervals;
  std::vector<Movable> movable;
  std::vector<int32_t> moments;  ///< between two steps, which begin and end at even times
};

/// Sizes and lives such as those in a dense block, all movable.
Instance Crowded(unsigned seed) {
  constexpr int kCount = 200;
  constexpr std::array<int64_t, 8> kSizes{98, 86, 74, 61, 49, 37, 25, 12};
  std::mt19937 random(seed);
  const auto draw = [&](int from, int to) {
    return from + static_cast<int>(random() % static_cast<unsigned>(to - from + 1));
  };
  Instance instance;
  for (int32_t m = 1; m < 2 * kCount; m += 2) instance.moments.push_back(m);
  for (int i = 0; i < kCount; ++i) {
    const int begin = 2 * draw(0, kCount - 2);
    const int end = std::min(2 * kCount, begin + 1 + 2 * draw(0, 40));
    const auto size = static_cast<size_t>(draw(0, 7));
    instance.intervals.push_back({kSizes[size], begin, end});
    instance.movable.push_back({begin + 1, end - 2});
  }
  return instance;
}

TEST(PackMoving, FitsWhatHardlyFitsInFixedPlaces) {
  int fixed = 0, moving = 0, shifts = 0;
  for (unsigned seed = 0; seed < 8; ++seed) {
    const auto [intervals, movable, moments] = Crowded(seed);
    const int64_t height = LargestLiveSum(intervals);
    const std::vector<Movable> never(intervals.size());
    fixed += PackMoving(intervals, never, moments, height).has_value();
    const auto found = PackMoving(intervals, movable, moments, height);
    if (!found) continue;
    ++moving;
    shifts += static_cast<int>(found->shifts.size());
    EXPECT_TRUE(IsCorrect(intervals, *found, height)) << "seed " << seed;
    for (const Shift& shift : found->shifts) {
      EXPECT_EQ(shift.at % 2, 1);
      EXPECT_LE(movable[shift.interval].from, shift.at);
      EXPECT_LE(shift.at, movable[shift.interval].to);
    }
  }
  EXPECT_LT(fixed, moving);
  EXPECT_GT(shifts, 0);
}

TEST(PackMoving, IsCorrectForWhateverThereIs) {
  EXPECT_TRUE(rc::check("random intervals", [] {
    const int count = *rc::gen::inRange(1, 40);
    std::vector<Interval> intervals;
    std::vector<Movable> movable;
    std::vector<int32_t> moments;
    for (int32_t m = 1; m < 60; m += *rc::gen::inRange(1, 6)) moments.push_back(m);
    for (int i = 0; i < count; ++i) {
      const auto begin = *rc::gen::inRange<int32_t>(0, 60);
      const auto end = *rc::gen::inRange<int32_t>(begin + 1, 62);
      intervals.push_back({*rc::gen::inRange<int64_t>(0, 20), begin, end});
      movable.push_back({begin + *rc::gen::inRange<int32_t>(1, 4), end - 2});
    }
    const int64_t enough = LargestLiveSum(intervals) + *rc::gen::inRange<int64_t>(0, 5);
    const auto found = PackMoving(intervals, movable, moments, enough);
    RC_PRE(found.has_value());
    RC_ASSERT(IsCorrect(intervals, *found, enough));
  }));
}

}  // namespace
}  // namespace layrub
