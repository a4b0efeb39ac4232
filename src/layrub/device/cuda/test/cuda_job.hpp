#ifndef LAYRUB_DEVICE_CUDA_TEST_CUDA_JOB_HPP_
#define LAYRUB_DEVICE_CUDA_TEST_CUDA_JOB_HPP_

#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "layrub/device/cuda/cuda_device.hpp"
#include "layrub/device/cuda/test/fake_runtime.hpp"
#include "layrub/placement/test/strategy_kinds.hpp"
#include "layrub/runtime/executor.hpp"
#include "layrub/runtime/test/chain.hpp"
#include "layrub/runtime/test/toy.hpp"

namespace layrub::testing {

inline std::vector<std::string> Nothing() { return {}; }

/// Whether `call` takes memory of the device or of the host.
inline bool Takes(const std::string& call) {
  static const std::set<std::string> calls = {"cudaMalloc", "cudaHostAlloc",
                                              "cudaStreamCreateWithFlags", "cudaEventCreate"};
  return calls.count(call) > 0;
}

/// A device, a backend, an executor and a toy on it.
struct Job {
  explicit Job(const Graph& graph, const Plan& plan, const std::string& spill_file = "",
               ExecutorOptions options = {}, int id = 0)
      : device(id),
        backend(device.MakeBackend(spill_file)),
        executor(graph, plan, backend.get(), options),
        toy(graph, [this](auto work) {
          device.MakeCurrent();
          fake_cuda::Launch(std::move(work));
        }) {
    toy.Attach(&executor);
  }
  /// Runs `iterations`, and returns what was wrong.
  std::vector<std::string> Iterate(int iterations) {
    for (int i = 0; i < iterations; ++i) toy.RunIteration();
    return toy.wrong();
  }

  CudaDevice device;
  const std::unique_ptr<Backend> backend;
  Executor executor;
  Toy toy;
};

class CudaBackendTest : public ::testing::Test {
 protected:
  void TearDown() override {
    EXPECT_EQ(fake_cuda::WhatIsAlive(), fake_cuda::Alive());
    EXPECT_EQ(fake_cuda::Violations(), Nothing());
    fake_cuda::Reset();
  }

  const Graph graph_ = Chain();
  const Plan plan_ = PlanTightly(graph_, "hybrid");
};

}  // namespace layrub::testing

#endif  // LAYRUB_DEVICE_CUDA_TEST_CUDA_JOB_HPP_
