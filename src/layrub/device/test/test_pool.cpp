#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <limits>
#include <stdexcept>
#include <thread>
#include <vector>

#include "layrub/device/pool.hpp"
#include "layrub/placement/ir/graph.hpp"

// Impossible sizes are requested on purpose: the sanitizers' allocators must return null as malloc
// does.
extern "C" const char* __tsan_default_options() { return "allocator_may_return_null=1"; }
extern "C" const char* __asan_default_options() { return "allocator_may_return_null=1"; }

namespace layrub {
namespace {

bool AllZero(const void* memory, int64_t bytes) {
  const char* begin = static_cast<const char*>(memory);
  return std::all_of(begin, begin + bytes, [](char c) { return c == 0; });
}

TEST(Pool, ZeroesReusedMemory) {
  Pool pool;
  void* first = pool.Allocate(5000);
  ASSERT_NE(first, nullptr);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(first) % kAlignment, 0u);
  EXPECT_TRUE(AllZero(first, 5000));
  std::memset(first, 0x55, 5000);
  pool.Free(first);
  void* second = pool.Allocate(4999);
  EXPECT_EQ(second, first);
  EXPECT_TRUE(AllZero(second, 4999));
}

TEST(Pool, TakesTheSmallestCachedBlockThatFits) {
  Pool pool;
  void* large = pool.Allocate(11 * 1024);
  void* small = pool.Allocate(10 * 1024);
  pool.Free(large);
  pool.Free(small);
  EXPECT_EQ(pool.Allocate(10 * 1024), small);
  EXPECT_EQ(pool.Allocate(10 * 1024), large);
}

TEST(Pool, DoesNotWasteALargeBlockOnASmallRequest) {
  Pool pool;
  void* large = pool.Allocate(1 << 20);
  pool.Free(large);
  EXPECT_NE(pool.Allocate(1000), large);
  EXPECT_EQ(pool.used(), 1024);
}

TEST(Pool, CountsUseAndPeakWithoutTheCache) {
  Pool pool;
  void* a = pool.Allocate(1000);
  void* b = pool.Allocate(1);
  EXPECT_EQ(pool.used(), 1024 + 256);
  pool.Free(a);
  EXPECT_EQ(pool.used(), 256);
  EXPECT_EQ(pool.peak(), 1024 + 256);
  pool.ResetPeak();
  EXPECT_EQ(pool.peak(), 256);
  pool.Free(b);
  pool.Trim();
  EXPECT_EQ(pool.used(), 0);
}

TEST(Pool, ZeroBytesGiveUniquePointers) {
  Pool pool;
  void* a = pool.Allocate(0);
  void* b = pool.Allocate(0);
  EXPECT_NE(a, nullptr);
  EXPECT_NE(b, nullptr);
  EXPECT_NE(a, b);
}

TEST(Pool, GivesNullForImpossibleSizes) {
  Pool pool;
  EXPECT_EQ(pool.Allocate(-1), nullptr);
  EXPECT_EQ(pool.Allocate(int64_t{1} << 60), nullptr);
  EXPECT_EQ(pool.Allocate(std::numeric_limits<int64_t>::max()), nullptr);
  EXPECT_EQ(pool.used(), 0);
}

TEST(Pool, RefusesMemoryOfOthers) {
  Pool pool;
  int stranger = 0;
  EXPECT_THROW(pool.Free(&stranger), std::invalid_argument);
  void* block = pool.Allocate(1);
  pool.Free(block);
  EXPECT_THROW(pool.Free(block), std::invalid_argument);
  EXPECT_NO_THROW(pool.Free(nullptr));
}

TEST(Pool, ServesSeveralThreads) {
  Pool pool;
  const auto work = [&pool](int seed) {
    for (int i = 0; i < 500; ++i) {
      const int64_t bytes = 1 + (seed * 7919 + i * 104729) % 20000;
      char* memory = static_cast<char*>(pool.Allocate(bytes));
      std::memset(memory, seed, static_cast<size_t>(bytes));
      if (!std::all_of(memory, memory + bytes, [seed](char c) { return c == seed; })) std::abort();
      pool.Free(memory);
    }
  };
  std::vector<std::thread> threads;
  for (int seed = 1; seed <= 4; ++seed) threads.emplace_back(work, seed);
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(pool.used(), 0);
  EXPECT_LE(pool.peak(), 4 * Aligned(20000) * 9 / 8);
}

TEST(Pool, CpuPoolWorksInAChildForkedWhileAThreadAllocates) {
  std::atomic<bool> ends = false;
  std::thread busy([&ends] {
    while (!ends) Pool::Cpu().Free(Pool::Cpu().Allocate(64));
  });
  int failed = 0;
  for (int i = 0; i < 100 && failed == 0; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      alarm(10);  // ends the child if a lock is never released
      Pool::Cpu().Free(Pool::Cpu().Allocate(64));
      _exit(0);
    }
    waitpid(child, &failed, 0);
  }
  ends = true;
  busy.join();
  EXPECT_EQ(failed, 0);
}

TEST(Pool, CpuReturnsTheSamePoolEachTime) { EXPECT_EQ(&Pool::Cpu(), &Pool::Cpu()); }

}  // namespace
}  // namespace layrub
