#include "layrub/placement/pack/pack.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <ctime>
#include <random>
#include <string>

namespace layrub::placement::pack {
namespace {

bool Overlap(const std::vector<Interval>& intervals, const Packing& packing, size_t a, size_t b) {
  const bool in_time =
      intervals[a].begin < intervals[b].end && intervals[b].begin < intervals[a].end;
  const bool in_space = packing.offsets[a] < packing.offsets[b] + intervals[b].bytes &&
                        packing.offsets[b] < packing.offsets[a] + intervals[a].bytes;
  return in_time && in_space && intervals[a].bytes > 0 && intervals[b].bytes > 0;
}

bool IsCorrect(const std::vector<Interval>& intervals, const Packing& packing) {
  if (packing.offsets.size() != intervals.size()) return false;
  for (size_t a = 0; a < intervals.size(); ++a) {
    if (packing.offsets[a] < 0) return false;
    if (packing.offsets[a] + intervals[a].bytes > packing.bytes) return false;
    for (size_t b = 0; b < a; ++b) {
      if (Overlap(intervals, packing, a, b)) return false;
    }
  }
  return true;
}

/// Random numbers that are the same on every machine.
class Draw {
 public:
  explicit Draw(unsigned seed) : random_(seed) {}
  int operator()(int from, int to) {
    return from + static_cast<int>(random_() % static_cast<unsigned>(to - from + 1));
  }

 private:
  std::mt19937 random_;
};

/// Buffers of a training iteration: most live for a few steps, some from a forward to its backward.
std::vector<Interval> TrainingLike(int count, unsigned seed) {
  Draw draw(seed);
  const int end = 2 * count;
  std::vector<Interval> intervals;
  for (int i = 0; i < count; ++i) {
    if (i % 3 == 0) {
      intervals.push_back({256 * draw(1, 1000), i, end - i});
    } else {
      const int begin = draw(0, end - 2);
      intervals.push_back({256 * draw(1, 3000), begin, std::min(end, begin + draw(1, 12))});
    }
  }
  return intervals;
}

/// Independent random sizes and begins; durations up to `longest`.
std::vector<Interval> Random(int count, int smallest, int longest, unsigned seed) {
  Draw draw(seed);
  const int end = 2 * count;
  std::vector<Interval> intervals;
  for (int i = 0; i < count; ++i) {
    const int duration = draw(1, longest);
    const int begin = draw(0, end - duration);
    intervals.push_back({256 * draw(smallest, 1000), begin, begin + duration});
  }
  return intervals;
}

TEST(LargestLiveSum, CountsRangesThatEndWhereOthersBeginOnce) {
  EXPECT_EQ(LargestLiveSum({}), 0);
  EXPECT_EQ(LargestLiveSum({{5, 0, 2}, {6, 2, 4}, {3, 1, 3}}), 9);
}

TEST(Pack, ReusesBytesOfDeadTensors) {
  const Packing packing = Pack({{8, 0, 2}, {8, 2, 4}, {8, 4, 6}});
  EXPECT_EQ(packing.bytes, 8);
  EXPECT_EQ(packing.offsets, (std::vector<int64_t>{0, 0, 0}));
}

TEST(Pack, PutsWhatLivesAllTheTimeAtTheBottomInOrder) {
  const Packing packing = Pack({{4, 3, 5}, {8, 0, 9}, {2, 0, 9}, {4, 5, 7}});
  EXPECT_EQ(packing.offsets, (std::vector<int64_t>{10, 0, 8, 10}));
  EXPECT_EQ(packing.bytes, 14);
}

TEST(Pack, HandlesNoRangesAndEmptyRanges) {
  EXPECT_EQ(Pack({}).bytes, 0);
  const Packing packing = Pack({{0, 0, 3}, {4, 1, 2}, {0, 1, 2}, {4, 0, 2}});
  EXPECT_EQ(packing.bytes, 8);
  EXPECT_TRUE(IsCorrect({{0, 0, 3}, {4, 1, 2}, {0, 1, 2}, {4, 0, 2}}, packing));
}

TEST(Pack, FillsAHoleThatAnAllocatorInTimeOrderMisses) {
  // In order of time, the 1 that lives long splits the bytes that the 4 needs later.
  const std::vector<Interval> intervals{{2, 0, 2}, {1, 1, 9}, {1, 0, 2}, {1, 1, 3}, {4, 3, 6}};
  EXPECT_EQ(Pack(intervals).bytes, LargestLiveSum(intervals));
}

TEST(Pack, IsDeterministic) {
  const std::vector<Interval> intervals = TrainingLike(300, 5);
  EXPECT_EQ(Pack(intervals).offsets, Pack(intervals).offsets);
}

TEST(Pack, StaysWithinTwoPercentOfTheBoundOnTrainingLikeInstances) {
  for (unsigned seed = 0; seed < 5; ++seed) {
    for (const int count : {300, 2000}) {
      const std::vector<Interval> intervals = TrainingLike(count, seed);
      const Packing packing = Pack(intervals);
      const int64_t bound = LargestLiveSum(intervals);
      EXPECT_LE(static_cast<double>(packing.bytes), 1.02 * static_cast<double>(bound))
          << count << " intervals, seed " << seed;
      if (count == 300) {
        EXPECT_TRUE(IsCorrect(intervals, packing)) << "seed " << seed;
      }
    }
  }
}

TEST(Pack, StaysWithinAFifthOfTheBoundOnRandomInstances) {
  for (unsigned seed = 0; seed < 30; ++seed) {
    for (const int count : {50, 300}) {
      for (const int smallest : {1, 500}) {
        for (const int longest : {count / 6, count / 2, count}) {
          const std::vector<Interval> intervals = Random(count, smallest, longest, seed);
          const Packing packing = Pack(intervals);
          const std::string name = "seed " + std::to_string(seed) + ", durations up to " +
                                   std::to_string(longest) + ", sizes from " +
                                   std::to_string(smallest);
          EXPECT_TRUE(IsCorrect(intervals, packing)) << name;
          EXPECT_LE(static_cast<double>(packing.bytes),
                    1.2 * static_cast<double>(LargestLiveSum(intervals)))
              << name;
        }
      }
    }
  }
}

TEST(Pack, GivesOffsetsThatAreSumsOfSizes) {
  for (const Packing& packing : {Pack(Random(200, 1, 100, 7)), Pack(Random(200, 500, 100, 7))}) {
    for (const int64_t offset : packing.offsets) EXPECT_EQ(offset % 256, 0);
  }
}

TEST(Pack, TakesAtMostSecondsForThirtyThousandIntervals) {
  const std::vector<Interval> intervals = TrainingLike(30000, 1);
  const std::clock_t start = std::clock();
  const Packing packing = Pack(intervals);
  EXPECT_LT(std::clock() - start, 5 * CLOCKS_PER_SEC);  // processor seconds; measured: 0.05
  EXPECT_LE(static_cast<double>(packing.bytes),
            1.02 * static_cast<double>(LargestLiveSum(intervals)));
}

TEST(Pack, NeverOverlapsLiveRanges) {
  EXPECT_TRUE(rc::check("a packing of random intervals is correct", [] {
    const auto interval = rc::gen::apply(
        [](int64_t bytes, int32_t begin, int32_t length) {
          return Interval{bytes, begin, begin + length};
        },
        rc::gen::inRange<int64_t>(0, 20), rc::gen::inRange(0, 40), rc::gen::inRange(1, 20));
    const auto intervals = *rc::gen::container<std::vector<Interval>>(interval);
    const Packing packing = Pack(intervals);
    RC_ASSERT(IsCorrect(intervals, packing));
    RC_ASSERT(packing.bytes >= LargestLiveSum(intervals));
  }));
}

}  // namespace
}  // namespace layrub::placement::pack
