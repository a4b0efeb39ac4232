#include <gtest/gtest.h>

#include <cstring>
#include <stdexcept>
#include <vector>

#include "layrub/device/device.hpp"

namespace layrub {
namespace {

class EmulatedDeviceTest : public ::testing::Test {
 protected:
  const std::unique_ptr<Device> device_ = MakeEmulatedDevice(1 << 20);
};

TEST_F(EmulatedDeviceTest, CopiesToFromAndWithinTheDevice) {
  const std::vector<int> sent = {1, 2, 3, 4};
  const int64_t bytes = 4 * sizeof(int);
  void* first = device_->Allocate(bytes);
  void* second = device_->Allocate(bytes);
  device_->Copy(first, sent.data(), bytes);
  device_->Copy(second, first, bytes);
  device_->Zero(first, bytes);
  std::vector<int> received(4);
  device_->CopyConcurrently(received.data(), second, bytes);
  EXPECT_EQ(received, sent);
  device_->Copy(received.data(), first, bytes);
  EXPECT_EQ(received, std::vector<int>(4));
}

TEST_F(EmulatedDeviceTest, HostCannotAccessItOutsideKernels) {
  int* memory = static_cast<int*>(device_->Allocate(sizeof(int)));
  EXPECT_DEATH(*static_cast<volatile int*>(memory) = 1, "");
  device_->BeginKernel();
  *memory = 5;
  device_->EndKernel();
  int received = 0;
  device_->Copy(&received, memory, sizeof(int));
  EXPECT_EQ(received, 5);
  EXPECT_DEATH(received = *static_cast<volatile int*>(memory), "");
}

TEST_F(EmulatedDeviceTest, AllocatesNoMoreThanItsBytes) {
  const int64_t half = device_->total_bytes() / 2;
  void* first = device_->Allocate(half);
  void* second = device_->Allocate(half);
  ASSERT_TRUE(first && second);
  EXPECT_EQ(device_->free_bytes(), 0);
  EXPECT_EQ(device_->Allocate(1), nullptr);
  device_->Free(first);
  EXPECT_EQ(device_->Allocate(half + 1), nullptr);
  device_->Free(second);
  EXPECT_NE(device_->Allocate(2 * half), nullptr) << "free neighbours become one range";
}

TEST(EmulatedDevice, ReportsItsMemoryUse) {
  const int64_t context = 4096;
  const std::unique_ptr<Device> device = MakeEmulatedDevice(1 << 20, context);
  EXPECT_EQ(device->free_bytes(), (1 << 20) - context);
  void* const memory = device->Allocate(1000);
  device->Free(memory);
  const DeviceUsage usage = device->Usage();
  EXPECT_EQ(usage.context_bytes, context);
  EXPECT_EQ(usage.library_bytes, 0);
  EXPECT_EQ(usage.peak_bytes, context + 1024);
  EXPECT_THROW(MakeEmulatedDevice(1 << 10, 1 << 20), std::invalid_argument);
}

TEST_F(EmulatedDeviceTest, PoolMemoryIsZero) {
  void* dirty = device_->pool().Allocate(1000);
  const std::vector<char> ones(1000, 1);
  device_->Copy(dirty, ones.data(), 1000);
  device_->pool().Free(dirty);
  std::vector<char> received(1000, 2);
  device_->Copy(received.data(), device_->pool().Allocate(1000), 1000);
  EXPECT_EQ(received, std::vector<char>(1000));
}

TEST_F(EmulatedDeviceTest, BackendCopiesBetweenTheTiers) {
  const auto backend = device_->MakeBackend(::testing::TempDir());
  for (const Tier tier : {Tier::kHost, Tier::kFile}) {
    EXPECT_EQ(backend->device(), device_.get());
    const std::vector<int> sent = {7, 8, 9};
    const int64_t bytes = 3 * sizeof(int);
    void* from = backend->Allocate(Tier::kDevice, bytes);
    void* away = backend->Allocate(tier, bytes);
    void* to = backend->Allocate(Tier::kDevice, bytes);
    device_->Copy(from, sent.data(), bytes);
    backend->Copy(OffloadLane(tier), away, from, bytes);
    backend->Wait(PrefetchLane(tier), backend->Record(OffloadLane(tier)));
    backend->Copy(PrefetchLane(tier), to, away, bytes);
    backend->Synchronize();
    std::vector<int> received(3);
    device_->Copy(received.data(), to, bytes);
    EXPECT_EQ(received, sent);
    backend->Zero(to, bytes);
    device_->Copy(received.data(), to, bytes);
    EXPECT_EQ(received, std::vector<int>(3));
    for (void* memory : {from, to}) backend->Free(Tier::kDevice, memory);
    backend->Free(tier, away);
  }
  EXPECT_EQ(device_->free_bytes(), device_->total_bytes());
}

#ifdef CPU_ONLY
TEST(Gpus, AreNotInACpuOnlyBuild) {
  EXPECT_EQ(GpuCount(), 0);
  EXPECT_EQ(NoGpuReason(), "Cannot use GPU in CPU-only Caffe: check mode.");
}
#endif

}  // namespace
}  // namespace layrub
