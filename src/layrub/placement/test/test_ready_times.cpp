#include "layrub/placement/pack/ready_times.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <vector>

namespace layrub::placement::pack {
namespace {

/// Wanted at once, or from its first byte to its last.
Timing Wanted(double first, double last) { return {first, last, 0, 0}; }

TEST(ReadyTimes, HasEverythingReadyFromTheStart) {
  EXPECT_EQ(ReadyTimes().Wait(0, 100, Wanted(0, 0)), 0);
}

TEST(ReadyTimes, WaitsForTheLastOfWhatWasThere) {
  ReadyTimes ready;
  ready.Set(0, 10, 3, 3);
  ready.Set(10, 20, 5, 5);
  EXPECT_EQ(ready.Wait(0, 10, Wanted(1, 1)), 2);
  EXPECT_EQ(ready.Wait(5, 10, Wanted(1, 1)), 4);
  EXPECT_EQ(ready.Wait(5, 10, Wanted(6, 6)), 0);
  EXPECT_EQ(ready.Wait(20, 10, Wanted(1, 1)), 0);
}

TEST(ReadyTimes, FollowsACopyThatGoesFromTheFirstByteToTheLast) {
  ReadyTimes ready;
  ready.Set(0, 100, 1, 11);
  EXPECT_DOUBLE_EQ(ready.Wait(0, 100, Wanted(1, 11)), 0);
  EXPECT_DOUBLE_EQ(ready.Wait(0, 100, Wanted(0, 10)), 1);
  EXPECT_DOUBLE_EQ(ready.Wait(0, 100, Wanted(1, 1)), 10);
  EXPECT_DOUBLE_EQ(ready.Wait(0, 50, Wanted(1, 1)), 5);
}

TEST(ReadyTimes, KeepsWhatIsSetByByte) {
  EXPECT_TRUE(rc::check("as an array of bytes would", [] {
    constexpr int64_t kBytes = 40;
    ReadyTimes ready;
    std::vector<double> each(kBytes);  // between a byte and the next nothing changes
    for (int i = *rc::gen::inRange(0, 12); i > 0; --i) {
      const auto begin = *rc::gen::inRange<int64_t>(0, kBytes);
      const auto end = *rc::gen::inRange<int64_t>(begin, kBytes + 1);
      const double at = *rc::gen::inRange(0, 9);
      ready.Set(begin, end, at, at);
      std::fill(each.begin() + begin, each.begin() + end, at);
    }
    const auto offset = *rc::gen::inRange<int64_t>(0, kBytes);
    const auto bytes = *rc::gen::inRange<int64_t>(1, kBytes - offset + 1);
    const double latest = *std::max_element(each.begin() + offset, each.begin() + offset + bytes);
    RC_ASSERT(ready.Wait(offset, bytes, Wanted(2, 2)) == std::max(0.0, latest - 2));
  }));
}

}  // namespace
}  // namespace layrub::placement::pack
