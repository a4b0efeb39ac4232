#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "layrub/device/arena.hpp"
#include "layrub/device/backend.hpp"
#include "layrub/device/copy_lane.hpp"

// Impossible sizes are requested on purpose: the sanitizers' allocators must return null as malloc
// does.
extern "C" const char* __tsan_default_options() { return "allocator_may_return_null=1"; }
extern "C" const char* __asan_default_options() { return "allocator_may_return_null=1"; }

namespace layrub {
namespace {

constexpr int64_t kHuge = int64_t{1} << 60;

std::vector<int> Numbers(int count, int first) {
  std::vector<int> numbers(count);
  std::iota(numbers.begin(), numbers.end(), first);
  return numbers;
}

int64_t BytesOf(const std::vector<int>& values) {
  return static_cast<int64_t>(values.size() * sizeof(int));
}

TEST(CpuBackend, CountsAlignedBytesOfEachTier) {
  const auto backend = MakeCpuBackend();
  void* device = backend->Allocate(Tier::kDevice, 1000);
  void* host = backend->Allocate(Tier::kHost, 1);
  ASSERT_NE(device, nullptr);
  ASSERT_NE(host, nullptr);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(device) % kAlignment, 0u);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(host) % kAlignment, 0u);
  EXPECT_EQ(backend->Allocated(Tier::kDevice), 1024);
  EXPECT_EQ(backend->Allocated(Tier::kHost), 256);
  backend->Free(Tier::kDevice, device);
  backend->Free(Tier::kHost, host);
  backend->Free(Tier::kHost, nullptr);
  EXPECT_EQ(backend->Allocated(Tier::kDevice), 0);
  EXPECT_EQ(backend->Allocated(Tier::kHost), 0);
}

TEST(CpuBackend, DiscardReturnsOnlyThePagesInTheRange) {
  const auto backend = MakeCpuBackend();
  constexpr int64_t kBytes = int64_t{1} << 20, kBegin = 100, kEnd = kBytes - 100;
  char* const device = static_cast<char*>(backend->Allocate(Tier::kDevice, kBytes));
  ASSERT_NE(device, nullptr);
  std::memset(device, 7, kBytes);
  backend->Discard(device + kBegin, kEnd - kBegin);
  EXPECT_EQ(std::count(device, device + kBegin, 7), kBegin);
  EXPECT_EQ(std::count(device + kEnd, device + kBytes, 7), kBytes - kEnd);
  EXPECT_EQ(device[kBytes / 2], 0);  // a new page
  std::memset(device, 8, kBytes);
  EXPECT_EQ(std::count(device, device + kBytes, 8), kBytes);
  backend->Discard(device, 0);
  EXPECT_EQ(device[0], 8);
  backend->Free(Tier::kDevice, device);
}

TEST(CpuBackend, GivesNullForImpossibleSizes) {
  const auto backend = MakeCpuBackend();
  EXPECT_EQ(backend->Allocate(Tier::kDevice, -1), nullptr);
  EXPECT_EQ(backend->Allocate(Tier::kDevice, kHuge), nullptr);
  EXPECT_EQ(backend->Allocate(Tier::kHost, std::numeric_limits<int64_t>::max()), nullptr);
  EXPECT_EQ(backend->Allocated(Tier::kDevice), 0);
}

TEST(CpuBackend, GivesUniquePointersForZeroBytes) {
  const auto backend = MakeCpuBackend();
  void* a = backend->Allocate(Tier::kDevice, 0);
  void* b = backend->Allocate(Tier::kDevice, 0);
  EXPECT_NE(a, nullptr);
  EXPECT_NE(a, b);
  EXPECT_EQ(backend->Allocated(Tier::kDevice), 0);
  backend->Free(Tier::kDevice, a);
  backend->Free(Tier::kDevice, b);
}

TEST(CpuBackend, RefusesToFreeMemoryOfOthers) {
  const auto backend = MakeCpuBackend();
  int stranger = 0;
  EXPECT_THROW(backend->Free(Tier::kDevice, &stranger), std::invalid_argument);
}

TEST(CpuBackend, CopiesWithinTheDeviceAtOnce) {
  const auto backend = MakeCpuBackend();
  const std::vector<int> from = Numbers(64, 1);
  std::vector<int> to(64);
  backend->Copy(Lane::kCompute, to.data(), from.data(), BytesOf(from));
  EXPECT_EQ(to, from);
  backend->Copy(Lane::kCompute, to.data() + 9, to.data(), BytesOf(from) / 2);
  EXPECT_TRUE(std::equal(from.begin(), from.begin() + 32, to.begin() + 9)) << "they overlap";
  backend->Copy(Lane::kCompute, nullptr, nullptr, 0);
}

TEST(CpuBackend, CopiesOfOneLaneKeepTheirOrder) {
  const auto backend = MakeCpuBackend();
  const std::vector<int> from = Numbers(4096, 1);
  std::vector<int> middle(4096), to(4096);
  for (int round = 0; round < 100; ++round) {
    backend->Copy(Lane::kSave, middle.data(), from.data(), BytesOf(from));
    backend->Copy(Lane::kSave, to.data(), middle.data(), BytesOf(from));
    backend->Wait(Lane::kCompute, backend->Record(Lane::kSave));
    ASSERT_EQ(to, from);
    backend->Zero(middle.data(), BytesOf(middle));
    backend->Zero(to.data(), BytesOf(to));
    ASSERT_EQ(to[4095], 0);
  }
}

TEST(CpuBackend, CallsAFunctionWhenTheCopiesBeforeItAreDone) {
  const auto backend = MakeCpuBackend();
  const std::vector<int> numbers = Numbers(1 << 18, 1);
  std::vector<int> from = numbers, to(1 << 18);
  backend->Copy(Lane::kLoad, to.data(), from.data(), BytesOf(from));
  backend->Call(Lane::kLoad, [&from] { std::fill(from.begin(), from.end(), 0); });
  backend->Wait(Lane::kCompute, backend->Record(Lane::kLoad));
  EXPECT_EQ(to, numbers);
  EXPECT_EQ(from, std::vector<int>(1 << 18));
  EXPECT_THROW(backend->Call(Lane::kCompute, [] {}), std::invalid_argument);
}

TEST(CpuBackend, OneLaneWaitsForTheOther) {
  const auto backend = MakeCpuBackend();
  std::vector<int> device = Numbers(1 << 18, 0), host(1 << 18), back(1 << 18);
  for (int round = 0; round < 20; ++round) {
    device[7] = round;
    backend->Copy(Lane::kSave, host.data(), device.data(), BytesOf(device));
    backend->Wait(Lane::kLoad, backend->Record(Lane::kSave));
    backend->Copy(Lane::kLoad, back.data(), host.data(), BytesOf(device));
    const Event loaded = backend->Record(Lane::kLoad);
    // The next round may write `host` only after it has been read.
    backend->Wait(Lane::kSave, loaded);
    backend->Wait(Lane::kCompute, loaded);
    ASSERT_EQ(back, device);
  }
}

TEST(CpuBackend, ABlockedLaneDoesNotBlockTheCaller) {
  const auto backend = MakeCpuBackend();
  int from = 5, to = 0;
  backend->Wait(Lane::kSave, {Lane::kLoad, 1});  // nothing is queued on the load lane yet
  backend->Copy(Lane::kSave, &to, &from, sizeof to);
  const Event saved = backend->Record(Lane::kSave);
  EXPECT_TRUE(std::isnan(backend->SecondsOf(saved)));
  EXPECT_EQ(to, 0);
  const Event opened = backend->Record(Lane::kLoad);
  backend->Wait(Lane::kCompute, saved);
  EXPECT_EQ(to, 5);
  EXPECT_GE(backend->SecondsOf(saved), backend->SecondsOf(opened));
}

TEST(CpuBackend, EventTimesAreInOrder) {
  const auto backend = MakeCpuBackend();
  std::vector<char> from(1 << 20), to(1 << 20);
  const Event before = backend->Record(Lane::kCompute);
  std::vector<Event> events;
  for (int i = 0; i < 10; ++i) {
    events.push_back(backend->Record(Lane::kLoad));
    backend->Copy(Lane::kLoad, to.data(), from.data(), 1 << 20);
  }
  backend->Synchronize();
  double last = backend->SecondsOf(before);
  for (const Event& event : events) {
    EXPECT_GE(backend->SecondsOf(event), last);
    last = backend->SecondsOf(event);
  }
  EXPECT_GE(backend->SecondsOf(backend->Record(Lane::kCompute)), last);
  EXPECT_TRUE(std::isnan(backend->SecondsOf({Lane::kCompute, 1000})));
}

TEST(CpuBackend, WaitingForAPastEventReturnsAtOnce) {
  const auto backend = MakeCpuBackend();
  backend->Wait(Lane::kCompute, Event{});
  backend->Wait(Lane::kSave, Event{});
  backend->Wait(Lane::kSave, backend->Record(Lane::kSave));
  backend->Wait(Lane::kLoad, backend->Record(Lane::kCompute));
  backend->Synchronize();
  EXPECT_FALSE(std::isnan(backend->SecondsOf(backend->Record(Lane::kCompute))));
}

TEST(CpuBackend, FinishesPendingCopiesWhenDestroyed) {
  for (int round = 0; round < 50; ++round) {
    std::vector<int> values = Numbers(1 << 14, round), saved(1 << 14), loaded(1 << 14);
    {
      const auto backend = MakeCpuBackend();
      backend->Copy(Lane::kSave, saved.data(), values.data(), BytesOf(values));
      backend->Wait(Lane::kLoad, backend->Record(Lane::kSave));
      backend->Copy(Lane::kLoad, loaded.data(), saved.data(), BytesOf(values));
    }
    ASSERT_EQ(saved, values);
    ASSERT_EQ(loaded, values);
  }
}

TEST(CpuBackend, DescribesItself) { EXPECT_EQ(MakeCpuBackend()->Describe().rfind("cpu, ", 0), 0u); }

TEST(CopyLane, AnyThreadMayAwaitATicket) {
  CopyLane lane;
  int from = 5, to = 0, seen = 0;
  lane.Copy(&to, &from, sizeof to);
  const uint64_t ticket = lane.Record();
  std::thread other([&] {
    lane.Await(ticket);
    seen = to;
  });
  other.join();
  EXPECT_EQ(seen, 5);
}

TEST(CopyLane, SleepsAndWakesAgain) {
  CopyLane lane;
  for (int i = 1; i <= 3; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    int to = 0;
    lane.Copy(&to, &i, sizeof to);
    lane.Await(lane.Record());
    EXPECT_EQ(to, i);
  }
}

TEST(CopyLane, ForgetsTimesOfOldTickets) {
  CopyLane lane;
  const uint64_t first = lane.Record();
  uint64_t last = first;
  for (uint64_t i = 0; i < TicketTimes::kKept; ++i) last = lane.Record();
  lane.Await(last);
  EXPECT_TRUE(std::isnan(lane.SecondsOf(first)));
  EXPECT_FALSE(std::isnan(lane.SecondsOf(last)));
}

TEST(Arena, ThrowsWhenItDoesNotFit) {
  const auto backend = MakeCpuBackend();
  EXPECT_THROW(Arena(backend.get(), Tier::kDevice, kHuge, false), std::bad_alloc);
  EXPECT_EQ(backend->Allocated(Tier::kDevice), 0);
}

TEST(Arena, PatternIsNanInBothTypes) {
  const auto backend = MakeCpuBackend();
  const Arena arena(backend.get(), Tier::kHost, 100000, true);
  for (int64_t at = 0; at + 8 <= arena.bytes(); at += 8) {
    float single[2];
    double twice;
    std::memcpy(single, arena.at(at), 8);
    std::memcpy(&twice, arena.at(at), 8);
    ASSERT_TRUE(std::isnan(single[0]) && std::isnan(single[1]) && std::isnan(twice)) << at;
  }
}

TEST(Arena, FindsTheLastByteThatWasWritten) {
  const auto backend = MakeCpuBackend();
  for (const Tier tier : {Tier::kDevice, Tier::kHost}) {
    Arena arena(backend.get(), tier, 200001, true);
    EXPECT_EQ(arena.EndOfChanges(0, arena.bytes()), 0);
    for (const int64_t at : {int64_t{0}, int64_t{32767}, int64_t{32768}, int64_t{200000}}) {
      *arena.at(at) ^= 1;
      EXPECT_EQ(arena.EndOfChanges(0, arena.bytes()), at + 1);
      EXPECT_EQ(arena.EndOfChanges(at, at), at);
    }
    EXPECT_EQ(arena.EndOfChanges(100, 32767), 100);
    EXPECT_EQ(arena.EndOfChanges(100, 200000), 32769);
    arena.Restore(1, arena.bytes());
    EXPECT_EQ(arena.EndOfChanges(0, arena.bytes()), 1);
  }
}

}  // namespace
}  // namespace layrub
