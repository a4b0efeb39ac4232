#ifndef LAYRUB_DEVICE_CUDA_TEST_NCCL_GROUP_HPP_
#define LAYRUB_DEVICE_CUDA_TEST_NCCL_GROUP_HPP_

#include <glog/logging.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "layrub/device/cuda/cuda_device.hpp"
#include "layrub/device/cuda/nccl_library.hpp"
#include "layrub/device/cuda/test/fake_runtime.hpp"

// GPUs that exchange values by NCCL, on a fake CUDA runtime and a fake NCCL, which is found in the
// program's own search path.
namespace layrub::testing {

inline constexpr int kMembers = 3;
inline constexpr int64_t kCount = 100;

/// Value `i` that member `rank` computes in `round`.
inline float Part(int rank, int round, int64_t i) {
  return static_cast<float>(rank * 1000 + round * 10 + i % 7);
}

inline int TimesCalled(const std::string& name) {
  const std::vector<fake_cuda::Call> calls = fake_cuda::Calls();
  return static_cast<int>(std::count_if(calls.begin(), calls.end(),
                                        [&](const auto& call) { return call.name == name; }));
}

/// GPUs with an array on each of them.
struct Gpus {
  explicit Gpus(int count = kMembers) {
    for (int id = 0; id < count; ++id) {
      devices.push_back(std::make_unique<CudaDevice>(id));
      values.push_back(static_cast<float*>(devices.back()->Allocate(kBytes)));
    }
  }
  ~Gpus() {
    for (size_t id = 0; id < devices.size(); ++id) devices[id]->Free(values[id]);
  }
  std::vector<Device*> list() const {
    std::vector<Device*> all;
    for (const auto& device : devices) all.push_back(device.get());
    return all;
  }
  /// Queues a kernel that writes the values of `round`.
  void Compute(int id, int round) {
    devices[id]->MakeCurrent();
    fake_cuda::Launch([array = values[id], id, round] {
      for (int64_t i = 0; i < kCount; ++i) array[i] = Part(id, round, i);
    });
  }
  /// Queues a kernel that appends the array's values to `sums`.
  void Collect(int id, std::vector<float>* sums) {
    devices[id]->MakeCurrent();
    fake_cuda::Launch([array = values[id], sums] {
      for (int64_t i = 0; i < kCount; ++i) sums->push_back(array[i]);
    });
  }
  void Synchronize() {
    for (const auto& device : devices) device->Synchronize();
  }

  static constexpr int64_t kBytes = kCount * int64_t{sizeof(float)};
  std::vector<std::unique_ptr<CudaDevice>> devices;
  std::vector<float*> values;
};

/// Runs `body(rank)` for each member in a thread of its own.
inline void ForEach(size_t members, const std::function<void(int)>& body) {
  std::vector<std::thread> threads;
  for (size_t rank = 0; rank < members; ++rank)
    threads.emplace_back([&body, rank] { body(static_cast<int>(rank)); });
  for (std::thread& thread : threads) thread.join();
}

class NcclTest : public ::testing::Test {
 protected:
  void SetUp() override {
    FLAGS_minloglevel = google::GLOG_WARNING;  // each group logs its library's version
    fake_cuda::Reset({.devices = kMembers});
  }
  void TearDown() override {
    EXPECT_EQ(fake_cuda::WhatIsAlive(), fake_cuda::Alive());
    EXPECT_EQ(fake_cuda::Violations(), std::vector<std::string>());
    EXPECT_EQ(TimesCalled("ncclCommInitRankConfig"),
              TimesCalled("ncclCommDestroy") + TimesCalled("ncclCommAbort"));
    fake_cuda::Reset();
  }
};

}  // namespace layrub::testing

#endif  // LAYRUB_DEVICE_CUDA_TEST_NCCL_GROUP_HPP_
