// The GPU backend on a runtime whose calls fail, each in turn: the messages, and that nothing is
// left behind.
#include <glog/logging.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <vector>

#include "layrub/device/cuda/test/cuda_job.hpp"
#include "layrub/device/cuda/test/fake_runtime.hpp"
#include "layrub/device/test/failures_throw.hpp"

namespace layrub {
namespace {

using fake_cuda::Alive;
using fake_cuda::Call;
using testing::Chain;
using testing::FailuresThrow;
using testing::Job;
using testing::Nothing;
using testing::PlanTightly;
using testing::PlanTightlyWithFile;
using testing::Takes;

using CudaFailuresTest = testing::CudaBackendTest;

/// Runs two iterations of the chain on a new backend, with or without a spill file.
void RunChain(bool file) {
  const Graph graph = Chain();
  const Plan plan = file ? PlanTightlyWithFile(graph, "hybrid") : PlanTightly(graph, "hybrid");
  Job job(graph, plan, file ? ::testing::TempDir() : "");
  EXPECT_EQ(job.Iterate(2), Nothing());
}

/// Returns how many calls in RunChain take memory.
int CountTaking(bool file) {
  fake_cuda::Reset();
  RunChain(file);
  const std::vector<Call> calls = fake_cuda::Calls();
  return static_cast<int>(
      std::count_if(calls.begin(), calls.end(), [](const Call& call) { return Takes(call.name); }));
}

/// Makes the `n`-th call from now on that takes memory fail.
void FailTaking(int n) {
  auto count = std::make_shared<int>(0);
  fake_cuda::Reset({.fail = [=](const std::string& call) {
    return Takes(call) && (*count)++ == n ? cudaErrorMemoryAllocation : cudaSuccess;
  }});
}

__attribute__((noreturn)) void Exit() { std::_Exit(1); }

/// RunChain as a program would run it: prints the error and exits with 1.
[[noreturn]] void RunChainAndExit(bool file) {
  google::InstallFailureFunction(&Exit);
  try {
    RunChain(file);
  } catch (const std::bad_alloc& error) {
    const bool clean = fake_cuda::WhatIsAlive() == Alive();
    std::cerr << error.what() << (clean ? ", nothing left" : ", something left") << std::endl;
    std::_Exit(1);
  }
  std::_Exit(0);
}

TEST_F(CudaFailuresTest, ReportsEachFailingAllocation) {
  const std::string cuda =
      "(cudaStreamCreateWithFlags|cudaEventCreate).*: out of memory: CUDA "
      "needs memory beside the plan: give a smaller --device_memory";
  const std::string arena =
      "49152 bytes of device memory cannot be allocated on GPU 0, Fake 0, which "
      "has [0-9]+ left: give a smaller --device_memory.*, nothing left";
  const std::string host =
      "(8192|0) bytes of pinned host memory cannot be allocated: .*--host_memory, .*"
      "--spill_file, nothing left";
  const std::string staging =
      "(8388608 bytes of pinned host memory, through which copies to and from the spill file go"
      "|Pinned host memory, by which a stream waits for the spill file), cannot be allocated: ";
  for (const bool file : {false, true}) {
    const int count = CountTaking(file);
    EXPECT_GE(count, 8);
    for (int n = 0; n < count; ++n) {
      FailTaking(n);
      EXPECT_EXIT(RunChainAndExit(file), ::testing::ExitedWithCode(1),
                  cuda + "|" + arena + "|" + host + (file ? "|" + staging : ""))
          << "allocation " << n;
    }
  }
}

TEST_F(CudaFailuresTest, FailuresLeaveNothingBehindInAProcessThatGoesOn) {
  const FailuresThrow throws;
  for (const bool file : {false, true}) {
    const int count = CountTaking(file);
    for (int n = 0; n < count; ++n) {
      FailTaking(n);
      EXPECT_ANY_THROW(RunChain(file)) << "allocation " << n;
      EXPECT_EQ(cudaGetLastError(), cudaSuccess) << "a kernel's check would report it";
      EXPECT_EQ(fake_cuda::WhatIsAlive(), Alive()) << "allocation " << n;
    }
    for (const int n : {0, 3, 7}) {
      auto work = std::make_shared<int>(0);
      fake_cuda::Reset({.fail = [=](const std::string& call) {
        return call == "work" && (*work)++ == n ? cudaErrorIllegalAddress : cudaSuccess;
      }});
      EXPECT_THROW(RunChain(file), std::runtime_error) << "work " << n;
    }
  }
  fake_cuda::Reset();
}

TEST_F(CudaFailuresTest, RefusesHostCopiesDuringCapture) {
  const FailuresThrow throws;
  CudaDevice device(0);
  void* const a = device.Allocate(8);
  void* const b = device.Allocate(8);
  int64_t value = 3;
  device.Copy(a, &value, 8);
  ASSERT_TRUE(device.BeginCapture());
  device.Copy(b, a, 8);
  EXPECT_THROW(device.Copy(a, &value, 8), std::runtime_error);
  EXPECT_THROW(device.Copy(&value, a, 8), std::runtime_error);
  const std::unique_ptr<CapturedWork> work = device.EndCapture();
  work->Queue();
  value = 0;
  device.Copy(&value, b, 8);
  EXPECT_EQ(value, 3);
  device.Free(a);
  device.Free(b);
}

TEST_F(CudaFailuresTest, PlanThatIsTooLargeLeavesNothingBehind) {
  for (const bool host : {false, true}) {
    fake_cuda::Options options;
    (host ? options.pinned_bytes : options.device_bytes) =
        host ? plan_.host_bytes - 1 : options.context_bytes + plan_.device_bytes - 1;
    fake_cuda::Reset(options);
    EXPECT_THROW(Job(graph_, plan_), std::bad_alloc);
    EXPECT_EQ(fake_cuda::WhatIsAlive(), Alive());
  }
}

TEST_F(CudaFailuresTest, AsynchronousFailureEndsTheProgramAndNamesACall) {
  for (const int n : {0, 3, 7}) {
    auto count = std::make_shared<int>(0);
    fake_cuda::Reset({.fail = [=](const std::string& call) {
      return call == "work" && (*count)++ == n ? cudaErrorIllegalAddress : cudaSuccess;
    }});
    EXPECT_DEATH(RunChain(n == 3), "cuda[A-Za-z]+\\(.*an illegal memory access was encountered\\.");
    fake_cuda::Reset();
  }
}

}  // namespace
}  // namespace layrub
