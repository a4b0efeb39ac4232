// Copies of the GPU backend, on a runtime that does work as early or as late as allowed.
#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "layrub/device/cuda/cuda_device.hpp"
#include "layrub/device/cuda/test/fake_runtime.hpp"
#include "layrub/placement/test/strategy_kinds.hpp"
#include "layrub/runtime/executor.hpp"
#include "layrub/runtime/test/chain.hpp"
#include "layrub/runtime/test/chain_in_part.hpp"
#include "layrub/runtime/test/toy.hpp"

namespace {

/// While it exists, both, one or none of the two threads that use the file are delayed, in a cycle
/// of four runs. The delay grows from cycle to cycle, until it is long enough on a slow machine.
class LateThreads {
 public:
  LateThreads() { threads_ = 0; }
  ~LateThreads() { threads_ = kNone; }
  /// A thread calls this before it uses the file.
  static void Come() {
    if (threads_ == kNone) return;
    thread_local const int number = threads_++;
    const int run = number / 2;
    const bool late = number % 2 == 0 ? run % 2 == 0 : run / 2 % 2 == 0;
    if (late) std::this_thread::sleep_for(std::chrono::milliseconds(20 << run / 4 * 2));
  }

 private:
  static constexpr int kNone = -1;
  static inline std::atomic<int> threads_ = kNone;
};

}  // namespace

// These replace the functions of the C library.
extern "C" {

ssize_t pwrite(int file, const void* from, size_t bytes, off_t offset) {
  LateThreads::Come();
  return syscall(SYS_pwrite64, file, from, bytes, offset);
}

ssize_t pread(int file, void* to, size_t bytes, off_t offset) {
  LateThreads::Come();
  return syscall(SYS_pread64, file, to, bytes, offset);
}

}  // extern "C"

namespace layrub {
namespace {

using fake_cuda::Pace;

class CudaCopies : public ::testing::TestWithParam<Pace> {
 protected:
  void SetUp() override { fake_cuda::Reset({.pace = GetParam()}); }
  void TearDown() override {
    EXPECT_EQ(fake_cuda::WhatIsAlive(), fake_cuda::Alive());
    EXPECT_EQ(fake_cuda::Violations(), std::vector<std::string>());
    fake_cuda::Reset();
  }
};

TEST_P(CudaCopies, CopiesLargerThanTheStagingGoThroughTheFileInPieces) {
  CudaDevice device(0);
  const std::unique_ptr<Backend> backend = device.MakeBackend(::testing::TempDir());
  const int64_t bytes = (int64_t{17} << 20) + 1000;  // two staging pieces and a part of one
  auto* const from = static_cast<char*>(backend->Allocate(Tier::kDevice, bytes));
  auto* const to = static_cast<char*>(backend->Allocate(Tier::kDevice, bytes));
  void* const file = backend->Allocate(Tier::kFile, bytes);
  for (int64_t i = 0; i < bytes; ++i) from[i] = static_cast<char>(i * 7919 >> 8);
  backend->Copy(Lane::kSpill, file, from, bytes);
  backend->Wait(Lane::kFetch, backend->Record(Lane::kSpill));
  backend->Copy(Lane::kFetch, to, file, bytes);
  backend->Synchronize();
  EXPECT_EQ(std::memcmp(from, to, static_cast<size_t>(bytes)), 0);
  for (void* memory : {from, to}) backend->Free(Tier::kDevice, memory);
  backend->Free(Tier::kFile, file);
}

/// Whether `bytes` that are copied to the file and back by the lanes stay the same.
bool ComeBack(int64_t bytes) {
  CudaDevice device(0);
  auto* const from = static_cast<char*>(device.Allocate(bytes));
  auto* const to = static_cast<char*>(device.Allocate(bytes));
  for (int64_t i = 0; i < bytes; i += 4096) from[i] = static_cast<char>(i >> 12) ^ (i >> 20);
  bool same = true;
  {
    // The backend frees the file after its threads have ended. Synchronize does not wait for them
    // where streams do not.
    const std::unique_ptr<Backend> backend = device.MakeBackend(::testing::TempDir());
    void* const file = backend->Allocate(Tier::kFile, bytes);
    backend->Copy(Lane::kSpill, file, from, bytes);
    backend->Wait(Lane::kFetch, backend->Record(Lane::kSpill));
    backend->Copy(Lane::kFetch, to, file, bytes);
    backend->Synchronize();
    for (int64_t i = 0; i < bytes; i += 4096) same = same && from[i] == to[i];
  }
  for (void* memory : {from, to}) device.Free(memory);
  return same;
}

/// Copies three pieces, through two places, to the file and back, leaving out the wait number
/// `dropped`. Returns whether the bytes are wrong in some order of work, or nothing if there is no
/// such wait.
std::optional<bool> Shows(int dropped, bool streams_wait_for_host, uint32_t seeds) {
  constexpr int64_t kBytes = int64_t{3} * (int64_t{8} << 20);
  bool there = false, shows = false;
  for (uint32_t seed = 0; seed < seeds && !shows; ++seed) {
    fake_cuda::Reset({.device_bytes = int64_t{80} << 20,
                      .pace = Pace::kRandom,
                      .seed = seed,
                      .drop_wait =
                          [&](int number) {
                            there = there || number == dropped;
                            return number == dropped;
                          },
                      .streams_wait_for_host = streams_wait_for_host});
    shows = !ComeBack(kBytes);
    if (!there) break;
  }
  fake_cuda::Reset();
  return there ? std::optional(shows) : std::nullopt;
}

TEST(CudaSpills, TheHalvesOfACopyWaitForEachOther) {
  int waits = 0, shown = 0;
  for (std::optional<bool> shows; (shows = Shows(waits, false, 12)); ++waits) shown += *shows;
  // Each lane has three waits for a filled place and three for an empty one, of which the first two
  // never matter. There are two waits between the lanes; that of the half which copies to the
  // device never matters either.
  EXPECT_EQ(waits, 2 * 6 + 2);
  EXPECT_EQ(shown, 2 * 4 + 1);
}

TEST(CudaSpills, StreamsWaitForTheThreadsOfTheFile) {
  // As above, but each of the six pieces has another wait for the thread, behind that for an empty
  // place, and each lane waits once when it is opened. The second piece is written before the
  // third.
  const int save = 2, load = save + 3 * 3 + 2;
  for (const int wait : {save + 2, save + 8, load + 1, load + 4, load + 7}) {
    const LateThreads late;
    EXPECT_EQ(Shows(wait, true, 16), true) << "wait " << wait;
  }
  const LateThreads late;
  EXPECT_EQ(Shows(save + 5, true, 4), false);
  EXPECT_EQ(Shows(load + 8, true, 1).has_value(), true);
  EXPECT_EQ(Shows(load + 9, true, 1), std::nullopt);
}

TEST_P(CudaCopies, SplitsCopiesBetweenOverlappingRanges) {
  CudaDevice device(0);
  const std::unique_ptr<Backend> backend = device.MakeBackend("");
  const int64_t bytes = 5000, most = 6000;
  auto* const memory = static_cast<char*>(backend->Allocate(Tier::kDevice, bytes + most));
  for (const int64_t distance : {256, 1024, 2500, 4999, 5000, 6000}) {
    for (const bool up : {false, true}) {
      for (int64_t i = 0; i < bytes + most; ++i) memory[i] = static_cast<char>(i * 7919 >> 8);
      char* const from = memory + (up ? 0 : distance);
      char* const to = memory + (up ? distance : 0);
      const std::string value(from, bytes);
      fake_cuda::ForgetCalls();
      backend->Copy(Lane::kCompute, to, from, bytes);
      EXPECT_EQ(static_cast<int64_t>(fake_cuda::Calls().size()), (bytes - 1) / distance + 1);
      backend->Synchronize();
      EXPECT_EQ(std::string(to, bytes), value) << distance << (up ? " up" : " down");
    }
  }
  fake_cuda::ForgetCalls();
  backend->Copy(Lane::kCompute, memory, memory, bytes);
  EXPECT_EQ(fake_cuda::Calls().size(), 0u);
  backend->Free(Tier::kDevice, memory);
}

TEST_P(CudaCopies, PartlyEvictedTensorsGiveTheSameBits) {
  const Graph graph = testing::Chain();
  for (const std::string& file : {std::string(), ::testing::TempDir()}) {
    for (const bool poison : {false, true}) {
      CudaDevice device(0);
      const std::unique_ptr<Backend> backend = device.MakeBackend(file);
      const Plan plan =
          file.empty() ? testing::ChainInPart() : testing::InFile(testing::ChainInPart());
      Executor executor(graph, plan, backend.get(), {.poison = poison});
      testing::Toy toy(graph, [&](auto work) { fake_cuda::Launch(std::move(work)); });
      toy.Attach(&executor);
      for (int i = 0; i < 3; ++i) toy.RunIteration();
      EXPECT_EQ(toy.wrong(), std::vector<std::string>());
      EXPECT_TRUE(!poison || executor.SentinelsIntact());
    }
  }
}

TEST_P(CudaCopies, ADeviceCopiesInOrderAndBesideTheRest) {
  CudaDevice device(0);
  const std::vector<int> sent = {1, 2, 3};
  std::vector<int> received(3);
  const int64_t bytes = 12;
  void* const memory = device.pool().Allocate(bytes);
  void* const other = device.pool().Allocate(bytes);
  device.Synchronize();  // the zeroing must come before CopyConcurrently, which does not wait for
                         // the stream
  device.CopyConcurrently(memory, sent.data(), bytes);
  device.Copy(other, memory, bytes);
  device.Zero(memory, bytes);
  device.Copy(received.data(), other, bytes);
  EXPECT_EQ(received, sent);
  device.Copy(received.data(), memory, bytes);
  EXPECT_EQ(received, std::vector<int>(3));
  for (void* used : {memory, other}) device.pool().Free(used);
}

TEST_P(CudaCopies, FakeRuntimeReportsOverlappingCopies) {
  CudaDevice device(0);
  auto* const memory = static_cast<char*>(device.Allocate(1024));
  EXPECT_TRUE(fake_cuda::Violations().empty());
  device.Copy(memory + 256, memory, 512);
  EXPECT_EQ(fake_cuda::Violations(), std::vector<std::string>{"a copy reads what it writes"});
  device.Free(memory);
  fake_cuda::ForgetViolations();
}

INSTANTIATE_TEST_SUITE_P(Paces, CudaCopies,
                         ::testing::Values(Pace::kEarly, Pace::kLate, Pace::kRandom));

}  // namespace
}  // namespace layrub
