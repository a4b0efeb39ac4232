#include "layrub/placement/pack/ready_times.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <vector>

namespace layrub::placement::pack {
namespace {

TEST(ReadyTimes, AreZeroAtTheStart) { EXPECT_EQ(ReadyTimes().Wait(0, 100, 0), 0); }

TEST(ReadyTimes, WaitForTheLatestUserOfARange) {
  ReadyTimes ready;
  ready.Set(0, 10, 3);
  ready.Set(10, 20, 5);
  EXPECT_EQ(ready.Wait(0, 10, 1), 2);
  EXPECT_EQ(ready.Wait(5, 15, 1), 4);
  EXPECT_EQ(ready.Wait(5, 15, 6), 0);
  EXPECT_EQ(ready.Wait(20, 30, 1), 0);
}

TEST(ReadyTimes, AreKeptByByte) {
  EXPECT_TRUE(rc::check("as an array of bytes would", [] {
    constexpr int64_t kBytes = 40;
    ReadyTimes ready;
    std::vector<double> each(kBytes);
    for (int i = *rc::gen::inRange(0, 12); i > 0; --i) {
      const auto begin = *rc::gen::inRange<int64_t>(0, kBytes);
      const auto end = *rc::gen::inRange<int64_t>(begin, kBytes + 1);
      const double at = *rc::gen::inRange(0, 9);
      ready.Set(begin, end, at);
      std::fill(each.begin() + begin, each.begin() + end, at);
    }
    const auto offset = *rc::gen::inRange<int64_t>(0, kBytes);
    const auto bytes = *rc::gen::inRange<int64_t>(1, kBytes - offset + 1);
    const double latest = *std::max_element(each.begin() + offset, each.begin() + offset + bytes);
    RC_ASSERT(ready.Wait(offset, offset + bytes, 2) == std::max(0.0, latest - 2));
  }));
}

}  // namespace
}  // namespace layrub::placement::pack
