#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>
#include <vector>

#include "layrub/base/in_parallel.hpp"

namespace layrub {
namespace {

TEST(InParallel, CallsTheFunctionOnceForEachIndex) {
  for (const size_t count : {0, 1, 2, 100}) {
    std::vector<std::atomic<int>> calls(count + 1);
    InParallel(count, [&](size_t i) { ++calls[i]; });
    for (size_t i = 0; i < count; ++i) EXPECT_EQ(calls[i], 1) << i << " of " << count;
    EXPECT_EQ(calls[count], 0);
  }
}

TEST(InParallel, RethrowsAnExceptionOnceAllCallsHaveReturned) {
  std::atomic<int> returned{0};
  const auto call = [&](size_t i) {
    if (i == 3) throw std::runtime_error("three");
    ++returned;
  };
  EXPECT_THROW(InParallel(4, call), std::runtime_error);
  EXPECT_EQ(returned, 3);
}

}  // namespace
}  // namespace layrub
