#include "layrub/placement/pack/pack_compacting.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "layrub/placement/cost/timeline.hpp"

namespace layrub::placement::pack {
namespace {

/// Intervals that begin at even times and end at odd ones, and a moment before each even time.
struct Instance {
  std::vector<Interval> intervals;
  std::vector<Movable> movable;
  std::vector<int32_t> moments;
  std::vector<int32_t> follows;

  explicit Instance(int times) {
    for (int32_t m = 1; m < 2 * times; m += 2) moments.push_back(m);
  }
  void Add(int64_t bytes, int begin, int end, bool may_move = true) {
    intervals.push_back({bytes, 2 * begin, 2 * end - 1});
    movable.push_back(may_move ? Movable{2 * begin + 1, 2 * end - 3} : Movable{});
    follows.push_back(kNone);
  }
  /// Adds an interval that continues interval `of` from its end on: a part of it, or, with more
  /// bytes, the whole tensor again.
  void AddPart(int32_t of, int64_t bytes, int begin, int end, bool may_move = true) {
    Add(bytes, begin, end, may_move);
    follows.back() = of;
    if (may_move && bytes < intervals[of].bytes) movable.back() = {2 * begin - 1, 2 * end - 1};
  }
  std::optional<MovingPacking> Slide(int64_t enough) const {
    return PackCompacting(intervals, movable, moments, {}, 1, enough, follows);
  }
};

Instance Crowded(unsigned seed) {
  std::mt19937 random(seed);
  const auto draw = [&](unsigned count) { return static_cast<int>(random() % count); };
  Instance instance(100);
  for (int i = 0; i < 150; ++i) {
    const int begin = draw(99);
    instance.Add(1 + draw(98), begin, std::min(100, begin + 1 + draw(40)));
  }
  return instance;
}

/// Goes through time with all placed intervals. Returns what is wrong, or "".
std::string Objection(const Instance& instance, const MovingPacking& packing, int64_t enough) {
  std::vector<Interval> intervals = instance.intervals;
  const auto count = static_cast<int32_t>(intervals.size());
  const auto part = [&](int32_t i) {
    const int32_t before = instance.follows[i];
    return before != kNone && instance.intervals[i].bytes < instance.intervals[before].bytes;
  };
  for (int32_t i = 0; i < count; ++i) {  // an interval that is continued lives on
    const int32_t before = instance.follows[i];
    if (before == kNone) continue;
    part(i) ? intervals[i].begin = intervals[before].end
            : intervals[before].end = intervals[i].begin;
  }
  std::map<int32_t, int64_t> live;  // where
  std::vector<int64_t> last(count);
  const auto put = [&](int32_t i, int64_t offset) {
    live.erase(i);
    const int64_t end = offset + intervals[i].bytes;
    if (offset < 0 || end > enough) return std::to_string(i) + " lies outside";
    for (const auto& [other, at] : live) {
      if (offset < at + intervals[other].bytes && at < end)
        return std::to_string(i) + " lies on " + std::to_string(other);
    }
    live[i] = last[i] = offset;
    return std::string();
  };
  const auto begin = [&](int32_t now, bool parts) {
    for (int32_t i = 0; i < count; ++i) {
      if (intervals[i].begin != now || intervals[i].bytes == 0 || part(i) != parts) continue;
      const int32_t before = instance.follows[i];
      if (before != kNone && packing.packing.offsets[i] != last[before])
        return std::to_string(i) + " does not go on in " + std::to_string(before);
      if (std::string wrong = put(i, packing.packing.offsets[i]); !wrong.empty()) return wrong;
    }
    return std::string();
  };
  auto shift = packing.shifts.begin();
  const int32_t end = 2 * static_cast<int32_t>(instance.moments.size());
  for (int32_t now = 0; now <= end; ++now) {
    std::erase_if(live, [&](const auto& one) { return intervals[one.first].end <= now; });
    if (std::string wrong = begin(now, true); !wrong.empty()) return wrong;
    for (; shift != packing.shifts.end() && shift->at == now; ++shift) {
      const Movable& movable = instance.movable[shift->interval];
      if (live.count(shift->interval) == 0) return "what is not there is moved";
      if (now < movable.from || movable.to < now) return "it may not be moved";
      if (std::string wrong = put(shift->interval, shift->offset); !wrong.empty()) return wrong;
    }
    if (std::string wrong = begin(now, false); !wrong.empty()) return wrong;
  }
  return shift == packing.shifts.end() ? "" : "a shift is out of order";
}

/// "who goes where", in order.
std::vector<std::string> Shifts(const MovingPacking& found) {
  std::vector<std::string> shifts;
  for (const Shift& shift : found.shifts)
    shifts.push_back(std::to_string(shift.interval) + " to " + std::to_string(shift.offset));
  return shifts;
}

TEST(PackCompacting, PacksIntoTheLargestLiveSum) {
  for (unsigned seed = 0; seed < 20; ++seed) {
    const Instance instance = Crowded(seed);
    const int64_t height = LargestLiveSum(instance.intervals);
    const auto found =
        PackCompacting(instance.intervals, instance.movable, instance.moments, {}, 1, height);
    ASSERT_TRUE(found.has_value()) << "seed " << seed;
    EXPECT_EQ(Objection(instance, *found, height), "") << "seed " << seed;
    EXPECT_FALSE(found->shifts.empty()) << "seed " << seed;
  }
}

TEST(PackCompacting, MovesNothingIfHolesSuffice) {
  for (unsigned seed = 0; seed < 5; ++seed) {
    const Instance instance = Crowded(seed);
    const int64_t height = 3 * LargestLiveSum(instance.intervals);
    const auto found =
        PackCompacting(instance.intervals, instance.movable, instance.moments, {}, 1, height);
    ASSERT_TRUE(found.has_value());
    EXPECT_TRUE(found->shifts.empty());
  }
}

TEST(PackCompacting, SlidesIfNothingFitsIntoAnotherHole) {
  // a a b b c c -> b and d stay, c begins again where a and the hole beside it lie.
  Instance instance(4);
  instance.Add(2, 0, 1);
  instance.Add(3, 0, 3);
  instance.Add(2, 0, 1);
  instance.Add(4, 1, 3);  // 2 below and 2 above the one of 3, which no hole of 2 takes
  const auto found =
      PackCompacting(instance.intervals, instance.movable, instance.moments, {}, 1, 7);
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(Objection(instance, *found, 7), "");
}

/// 8 at the bottom and 1 above it, with 2 between that end and 3 above that have ended; then 4
/// begin, for which the 1 has to go.
Instance Between(int64_t unit) {
  Instance instance(4);
  instance.Add(8 * unit, 0, 3);
  instance.Add(3 * unit, 0, 1);
  instance.Add(2 * unit, 0, 2);
  instance.Add(1 * unit, 0, 3);
  instance.Add(4 * unit, 2, 4);
  return instance;
}

TEST(PackCompacting, MovesOnlyWhatLiesBetweenTheHolesItJoins) {
  const Instance instance = Between(1);
  const auto found =
      PackCompacting(instance.intervals, instance.movable, instance.moments, {}, 1, 14);
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(Objection(instance, *found, 14), "");
  ASSERT_EQ(found->shifts.size(), 1);
  EXPECT_EQ(instance.intervals[found->shifts[0].interval].bytes, 1);
}

TEST(PackCompacting, TakesTheHoleWithTheShortestWait) {
  // Two of 4 end at once; whose bytes are ready first are taken, though the other hole is smaller.
  Instance instance(4);
  instance.Add(5, 0, 1);
  instance.Add(1, 0, 4, false);
  instance.Add(4, 0, 1);
  instance.Add(4, 1, 3);
  Timings timings;
  timings.ranges.resize(4);
  timings.ranges[3] = {1, 3};
  for (const size_t early : {0, 2}) {
    timings.ranges[2 - early] = {0, 2};
    timings.ranges[early] = {0, 1};
    const auto found =
        PackCompacting(instance.intervals, instance.movable, instance.moments, timings, 1, 10);
    ASSERT_TRUE(found.has_value());
    EXPECT_TRUE(found->shifts.empty());
    const std::vector<int64_t>& offsets = found->packing.offsets;
    EXPECT_GE(offsets[3], offsets[early]);
    EXPECT_LE(offsets[3] + 4, offsets[early] + instance.intervals[early].bytes);
  }
}

TEST(PackCompacting, HandlesRangesThatAreNeverUsed) {
  const Instance instance = Between(1);
  Timings timings;
  timings.ranges.assign(instance.intervals.size(), Timing{kNever, 0});
  const auto found =
      PackCompacting(instance.intervals, instance.movable, instance.moments, timings, 1, 14);
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(Objection(instance, *found, 14), "");
  EXPECT_EQ(found->shifts.size(), 1);
}

TEST(PackCompacting, ReportsOnlyTheBytesThatItUses) {
  Instance instance = Between(1);
  const auto found = instance.Slide(1000);
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(Objection(instance, *found, 1000), "");
  int64_t touched = 0;
  for (size_t i = 0; i < instance.intervals.size(); ++i)
    touched = std::max(touched, found->packing.offsets[i] + instance.intervals[i].bytes);
  for (const Shift& shift : found->shifts)
    touched = std::max(touched, shift.offset + instance.intervals[shift.interval].bytes);
  EXPECT_EQ(found->packing.bytes, touched);
}

TEST(PackCompacting, DoesNotMoveSmallIntervals) {
  Instance instance = Between(10000);
  for (int end = 1; end < 4; ++end) instance.Add(1, 0, end);
  const int64_t enough = 14 * 10000 + 3;
  const auto found =
      PackCompacting(instance.intervals, instance.movable, instance.moments, {}, 1, enough);
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(Objection(instance, *found, enough), "");
  ASSERT_EQ(found->shifts.size(), 1);
  EXPECT_EQ(instance.intervals[found->shifts[0].interval].bytes, 10000);
}

TEST(PackCompacting, DoesNotMoveWhatMayNotMove) {
  Instance instance(4);
  instance.Add(2, 0, 1);
  instance.Add(3, 0, 3, false);
  instance.Add(2, 0, 1);
  instance.Add(4, 1, 3);
  const auto found =
      PackCompacting(instance.intervals, instance.movable, instance.moments, {}, 1, 7);
  if (found) {
    EXPECT_EQ(Objection(instance, *found, 7), "");
    EXPECT_TRUE(found->shifts.empty());
  }
}

TEST(PackCompacting, PlacesAtMultiplesOfItsUnit) {
  Instance instance(3);
  for (const int64_t bytes : {512, 256, 768}) instance.Add(bytes, 0, 2);
  const auto found =
      PackCompacting(instance.intervals, instance.movable, instance.moments, {}, 256, 1700);
  ASSERT_TRUE(found.has_value());
  for (const int64_t offset : found->packing.offsets) EXPECT_EQ(offset % 256, 0);
  EXPECT_FALSE(
      PackCompacting(instance.intervals, instance.movable, instance.moments, {}, 256, 1535));
}

TEST(PackCompacting, IsCorrectForRandomIntervals) {
  EXPECT_TRUE(rc::check("random intervals", [] {
    Instance instance(30);
    const int count = *rc::gen::inRange(1, 40);
    for (int i = 0; i < count; ++i) {
      const auto begin = *rc::gen::inRange(0, 29);
      instance.Add(*rc::gen::inRange<int64_t>(0, 20), begin, *rc::gen::inRange(begin + 1, 31),
                   *rc::gen::inRange(0, 8) > 0);
    }
    const int64_t enough = LargestLiveSum(instance.intervals) + *rc::gen::inRange<int64_t>(0, 5);
    const auto found = instance.Slide(enough);
    RC_PRE(found.has_value());
    RC_ASSERT(Objection(instance, *found, enough) == "");
  }));
}

using Offsets = std::vector<int64_t>;

TEST(PackCompacting, LeavesAPartInPlace) {
  Instance instance(3);
  instance.Add(4, 0, 3);
  instance.Add(3, 0, 1);
  instance.AddPart(1, 1, 1, 3);
  instance.Add(2, 1, 3);  // takes the rest
  const auto found = instance.Slide(7);
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(Objection(instance, *found, 7), "");
  EXPECT_EQ(found->packing.offsets, (Offsets{0, 4, 4, 5}));
  EXPECT_TRUE(found->shifts.empty());
}

TEST(PackCompacting, GrowsAPartInPlaceIfTheBytesAboveAreFree) {
  Instance instance(5);
  instance.Add(8, 0, 1);
  instance.Add(2, 0, 4);
  instance.AddPart(0, 4, 1, 3);
  instance.Add(4, 1, 3);
  instance.AddPart(2, 8, 3, 5);
  const auto found = instance.Slide(10);
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(Objection(instance, *found, 10), "");
  EXPECT_EQ(found->packing.offsets, (Offsets{0, 8, 0, 4, 0}));
  EXPECT_TRUE(found->shifts.empty());
}

TEST(PackCompacting, MovesIntervalsAboveAGrowingPart) {
  Instance instance(4);
  instance.Add(8, 0, 1);
  instance.Add(2, 0, 2);
  instance.AddPart(0, 4, 1, 3);
  instance.Add(2, 1, 4);  // on the part, with 2 above it, and 2 more later
  instance.AddPart(2, 8, 3, 4);
  const auto found = instance.Slide(10);
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(Objection(instance, *found, 10), "");
  EXPECT_EQ(found->packing.offsets, (Offsets{0, 8, 0, 4, 0}));
  EXPECT_EQ(Shifts(*found), (std::vector<std::string>{"3 to 8"}));
}

TEST(PackCompacting, MovesIntervalsBelowAGrowingPart) {
  // Of 8: 3, which end first, then 1, then the tensor, of whose 4 others take 3.
  Instance instance(6);
  instance.Add(3, 0, 3);
  instance.Add(3, 0, 1);
  instance.Add(1, 0, 5);
  instance.Add(1, 0, 1);
  instance.Add(4, 1, 2);
  instance.AddPart(4, 1, 2, 4);
  instance.Add(3, 2, 5);
  instance.AddPart(5, 4, 4, 6);
  const auto found = instance.Slide(8);
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(Objection(instance, *found, 8), "");
  EXPECT_EQ(found->packing.offsets, (Offsets{0, 5, 3, 4, 4, 4, 5, 1}));
  EXPECT_EQ(Shifts(*found), (std::vector<std::string>{"2 to 0", "5 to 1"}));
}

TEST(PackCompacting, MovesIntervalsOnBothSidesOfAGrowingPartIfNeeded) {
  // Of 7: 2 that end first, the tensor, of whose 4 others take 3, and 1 that ends, too.
  Instance instance(4);
  instance.Add(2, 0, 2);
  instance.Add(4, 1, 2);
  instance.Add(1, 1, 3);
  instance.AddPart(1, 1, 2, 3);
  instance.Add(3, 2, 4);
  instance.AddPart(3, 4, 3, 4);
  const auto found = instance.Slide(7);
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(Objection(instance, *found, 7), "");
  EXPECT_EQ(found->packing.offsets, (Offsets{0, 2, 6, 2, 3, 0}));
  EXPECT_EQ(Shifts(*found), (std::vector<std::string>{"3 to 0", "4 to 4"}));
}

/// A tensor of 4, of which 1 stays; what takes the rest is still there when it comes back. Another
/// 4 are free then.
Instance BesideFour(bool may_move) {
  Instance instance(4);
  instance.Add(4, 0, 1);
  instance.Add(4, 0, 2);
  instance.AddPart(0, 1, 1, 3, may_move);
  instance.Add(3, 1, 4, may_move);
  instance.AddPart(2, 4, 3, 4);
  return instance;
}

TEST(PackCompacting, MovesAPartIfThatIsCheaper) {
  const Instance instance = BesideFour(true);
  const auto found = instance.Slide(8);
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(Objection(instance, *found, 8), "");
  EXPECT_EQ(found->packing.offsets, (Offsets{0, 4, 0, 1, 4}));
  EXPECT_EQ(Shifts(*found), (std::vector<std::string>{"2 to 4"}));
}

TEST(PackCompacting, GrowsTwoPartsBeforeOneRun) {
  Instance instance(5);
  instance.Add(4, 0, 1);
  instance.Add(4, 0, 1);
  instance.AddPart(0, 2, 1, 4);
  instance.AddPart(1, 2, 1, 4);
  instance.Add(4, 1, 3);
  instance.AddPart(2, 4, 4, 5);
  instance.AddPart(3, 4, 4, 5);
  instance.moments = {1, 3, 5};  // the run begins before its second step, at which they grow
  const auto found = instance.Slide(8);
  ASSERT_TRUE(found.has_value());
  instance.moments = Instance(5).moments;
  EXPECT_EQ(Objection(instance, *found, 8), "");
}

TEST(PackCompacting, FailsForAPartThatCanNeitherGrowNorMove) {
  EXPECT_FALSE(BesideFour(false).Slide(8).has_value());
}

TEST(PackCompacting, MovesAPartAsSoonAsItIsOne) {
  // 2 below it and 2 above it are free, and 4 begin.
  Instance instance(4);
  instance.Add(2, 0, 2);
  instance.Add(3, 1, 2);
  instance.AddPart(1, 1, 2, 4);
  instance.Add(4, 2, 4);
  const auto found = instance.Slide(5);
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(Objection(instance, *found, 5), "");
  EXPECT_EQ(found->packing.offsets, (Offsets{0, 2, 2, 0}));
  EXPECT_EQ(Shifts(*found), (std::vector<std::string>{"2 to 4"}));
}

TEST(PackCompacting, IsCorrectForRandomParts) {
  EXPECT_TRUE(rc::check("random parts", [] {
    Instance instance(30);
    const int count = *rc::gen::inRange(1, 15);
    for (int i = 0; i < count; ++i) {
      const auto bytes = *rc::gen::inRange<int64_t>(2, 20);
      const auto begin = *rc::gen::inRange(0, 25);
      const auto left = *rc::gen::inRange(begin + 1, 28);
      const auto back = *rc::gen::inRange(left + 1, 30);
      const bool may_move = *rc::gen::inRange(0, 8) > 0;
      const auto first = static_cast<int32_t>(instance.intervals.size());
      instance.Add(bytes, begin, left, may_move);
      if (*rc::gen::inRange(0, 3) == 0) continue;
      instance.AddPart(first, *rc::gen::inRange<int64_t>(1, bytes), left, back, may_move);
      instance.AddPart(first + 1, bytes, back, 30, may_move);
    }
    const int64_t enough = LargestLiveSum(instance.intervals) + *rc::gen::inRange<int64_t>(0, 5);
    const auto found = instance.Slide(enough);
    RC_PRE(found.has_value());
    RC_ASSERT(Objection(instance, *found, enough) == "");
  }));
}

}  // namespace
}  // namespace layrub::placement::pack
