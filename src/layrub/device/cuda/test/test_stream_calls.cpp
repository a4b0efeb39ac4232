// Functions of the host that streams call, on a runtime that does work as early or as late as
// allowed.
#include "layrub/device/cuda/stream_calls.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "layrub/device/cuda/test/fake_runtime.hpp"

namespace layrub {
namespace {

using fake_cuda::Pace;

/// A place where two threads meet.
class Meeting {
 public:
  /// Waits a while for the other thread. Returns whether it came.
  bool Come(std::chrono::milliseconds patience) {
    std::unique_lock<std::mutex> lock(mutex_);
    ++here_;
    changed_.notify_all();
    return changed_.wait_for(lock, patience, [this] { return here_ == 2; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  int here_ = 0;
};

/// Resets the fake runtime at its beginning and at its end.
struct Process {
  explicit Process(const fake_cuda::Options& options) { fake_cuda::Reset(options); }
  ~Process() { fake_cuda::Reset(); }
};

/// A device and two streams with their threads.
struct TwoStreams {
  explicit TwoStreams(const fake_cuda::Options& options = {}) : process(options) {}
  ~TwoStreams() { Synchronize(); }
  void Synchronize() {
    for (const CudaStream& stream : streams)
      EXPECT_EQ(cudaStreamSynchronize(stream.get()), cudaSuccess);
  }

  const Process process;
  CudaDevice device{0};
  FirstError error;
  const CudaStream streams[2] = {CudaStream(cudaStreamNonBlocking),
                                 CudaStream(cudaStreamNonBlocking)};
  StreamThread threads[2] = {StreamThread(&device, streams[0].get(), &error),
                             StreamThread(&device, streams[1].get(), &error)};
};

TEST(StreamCalls, TwoStreamsCallAtTheSameTime) {
  TwoStreams two({.pace = Pace::kEarly});
  Meeting meeting;
  std::atomic<int> met{0};
  for (StreamThread& thread : two.threads)
    thread.Call([&] { met += meeting.Come(std::chrono::seconds(30)); });
  two.Synchronize();
  EXPECT_EQ(met, 2);
}

TEST(StreamCalls, TakeTurnsIfTheDriverCannotWait) {
  ::testing::internal::CaptureStderr();
  TwoStreams two({.pace = Pace::kEarly, .streams_wait_for_host = false});
  Meeting meeting;
  int met = 0, called = 0;
  for (StreamThread& thread : two.threads) {
    thread.Call([&] {
      met += meeting.Come(std::chrono::milliseconds(called == 0 ? 20 : 0));
      ++called;
    });
  }
  two.Synchronize();
  EXPECT_EQ(called, 2);
  EXPECT_EQ(met, 1) << "the first one has gone when the second one comes";
  EXPECT_NE(::testing::internal::GetCapturedStderr().find("cannot wait for threads"),
            std::string::npos);
}

TEST(StreamCalls, AStreamMakesItsCallsInOrderAndWaits) {
  for (const bool in_threads : {true, false}) {
    for (uint32_t seed = 0; seed < 20; ++seed) {
      TwoStreams two({.pace = Pace::kRandom, .seed = seed, .streams_wait_for_host = in_threads});
      std::vector<int> seen[2];
      for (int i = 0; i < 30; ++i) {
        for (int stream : {0, 1}) {
          if (i % 3 == 0) {
            two.threads[stream].Call([&seen, stream, i] { seen[stream].push_back(i); });
          } else {
            fake_cuda::Launch([&seen, stream, i] { seen[stream].push_back(i); },
                              two.streams[stream].get());
          }
        }
      }
      two.Synchronize();
      for (const std::vector<int>& order : seen) {
        ASSERT_EQ(order.size(), 30u);
        for (int i = 0; i < 30; ++i) EXPECT_EQ(order[i], i) << "seed " << seed;
      }
    }
  }
}

TEST(StreamCalls, KeepsAnExceptionAndTheStreamGoesOn) {
  for (const bool in_threads : {true, false}) {
    TwoStreams two({.streams_wait_for_host = in_threads});
    bool called = false, launched = false;
    two.threads[0].Call([] { throw std::runtime_error("the disk is gone"); });
    two.threads[0].Call([&] { called = true; });
    fake_cuda::Launch([&] { launched = true; }, two.streams[0].get());
    two.Synchronize();
    EXPECT_TRUE(called && launched);
    EXPECT_THROW(two.error.Rethrow(), std::runtime_error);
  }
}

TEST(StreamCalls, ThreadsNeverCallCuda) {
  std::atomic<int> calls_of_others{0};
  TwoStreams two({.before = [&, main = std::this_thread::get_id()](const std::string&) {
    calls_of_others += std::this_thread::get_id() != main;
  }});
  std::atomic<bool> called_by_another{false};
  two.threads[0].Call([&, main = std::this_thread::get_id()] {
    called_by_another = main != std::this_thread::get_id();
  });
  two.Synchronize();
  EXPECT_TRUE(called_by_another);
  EXPECT_EQ(calls_of_others, 0) << "they may wait for who waits for this stream";
}

TEST(StreamCalls, FreesEverything) {
  {
    TwoStreams two;
    two.threads[1].Call([] {});
    EXPECT_EQ(fake_cuda::WhatIsAlive().pinned_memory, 2);
    two.Synchronize();
    EXPECT_EQ(fake_cuda::Violations(), std::vector<std::string>());
  }
  fake_cuda::Reset();
  {
    CudaDevice device(0);
    FirstError error;
    const CudaStream stream(cudaStreamNonBlocking);
    const StreamThread thread(&device, stream.get(), &error);
    cudaStreamSynchronize(stream.get());
  }
  EXPECT_EQ(fake_cuda::WhatIsAlive(), fake_cuda::Alive());
  fake_cuda::Reset();
}

}  // namespace
}  // namespace layrub
