// The two sides of SyncedMemory, on an emulated device.
#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "caffe/blob.hpp"
#include "caffe/device_context.hpp"
#include "caffe/test/device_scope.hpp"
#include "caffe/test/expect_error.hpp"
#include "layrub/device/device.hpp"

namespace caffe {
namespace {

class DeviceMemory : public ::testing::Test {
 protected:
  float OnDevice(const void* address) {
    float value = 0;
    device_->Copy(&value, address, sizeof(value));
    return value;
  }
  void SetOnDevice(void* address, float value) { device_->Copy(address, &value, sizeof(value)); }

  const std::unique_ptr<layrub::Device> device_ = layrub::MakeEmulatedDevice(1 << 20);
  const DeviceScope scope_{device_.get()};
};

TEST_F(DeviceMemory, FirstAccessGivesZerosOnThatSide) {
  SyncedMemory memory(sizeof(float));
  EXPECT_EQ(OnDevice(memory.gpu_data()), 0);
  EXPECT_EQ(memory.head(), SyncedMemory::HEAD_AT_GPU);
  EXPECT_EQ(*static_cast<const float*>(memory.cpu_data()), 0);
  EXPECT_EQ(memory.head(), SyncedMemory::SYNCED);
}

TEST_F(DeviceMemory, WritesOnOneSideAreVisibleOnTheOther) {
  SyncedMemory memory(sizeof(float));
  *static_cast<float*>(memory.mutable_cpu_data()) = 3;
  EXPECT_EQ(memory.head(), SyncedMemory::HEAD_AT_CPU);
  EXPECT_EQ(OnDevice(memory.gpu_data()), 3);
  EXPECT_EQ(memory.head(), SyncedMemory::SYNCED);
  SetOnDevice(memory.mutable_gpu_data(), 4);
  EXPECT_EQ(memory.head(), SyncedMemory::HEAD_AT_GPU);
  EXPECT_EQ(*static_cast<const float*>(memory.cpu_data()), 4);
}

TEST_F(DeviceMemory, SetZeroZeroesBothSides) {
  for (const bool gpu : {false, true}) {
    SyncedMemory memory(sizeof(float));
    SetOnDevice(memory.mutable_gpu_data(), 4);
    EXPECT_EQ(*static_cast<const float*>(memory.cpu_data()), 4);
    memory.SetZero();
    if (gpu) {
      EXPECT_EQ(OnDevice(memory.gpu_data()), 0);
    }
    EXPECT_EQ(*static_cast<const float*>(memory.cpu_data()), 0);
    EXPECT_EQ(OnDevice(memory.gpu_data()), 0);
  }
}

TEST_F(DeviceMemory, SetZeroZeroesUserMemoryAtOnce) {
  void* const mine = device_->Allocate(sizeof(float));
  SetOnDevice(mine, 6);
  {
    SyncedMemory memory(sizeof(float));
    memory.set_gpu_data(mine);
    EXPECT_EQ(*static_cast<const float*>(memory.cpu_data()), 6);
    memory.SetZero();
    EXPECT_EQ(OnDevice(mine), 0);
  }
  device_->Free(mine);
}

TEST_F(DeviceMemory, KeepsUserMemoryOnEitherSide) {
  float mine = 5;
  void* const mine_too = device_->Allocate(sizeof(float));
  SetOnDevice(mine_too, 6);
  {
    SyncedMemory memory(sizeof(float));
    memory.set_cpu_data(&mine);
    EXPECT_EQ(OnDevice(memory.gpu_data()), 5);
    memory.set_gpu_data(mine_too);
    EXPECT_TRUE(memory.user_owned());
    EXPECT_EQ(memory.gpu_data(), mine_too);
    EXPECT_EQ(*static_cast<const float*>(memory.cpu_data()), 6);
    EXPECT_EQ(mine, 6);
  }
  EXPECT_EQ(OnDevice(mine_too), 6);
}

TEST_F(DeviceMemory, UsesTheDevicesPools) {
  Caffe::set_mode(Caffe::GPU);
  {
    SyncedMemory memory(1000);
    memory.mutable_cpu_data();
    memory.gpu_data();
    EXPECT_EQ(device_->pool().used(), 1024);
    EXPECT_EQ(device_->host_pool().used(), 1024);
  }
  EXPECT_EQ(device_->pool().used(), 0);
  EXPECT_EQ(device_->host_pool().used(), 0);
}

TEST_F(DeviceMemory, ReportsWhereMemoryRanOut) {
  SyncedMemory memory(size_t{2} << 20);
  EXPECT_ERROR(memory.gpu_data(), "Out of memory on the device: 2097152 bytes");
}

/// Resolves to one planned value, on the host or the device.
class Plan : public Resolver {
 public:
  Plan(Place place, layrub::Device* device) : place_(place) {
    binding.bytes = sizeof(float);
    binding.device = device;
    binding.resolver = this;
  }
  Place Resolve(int, bool) override { return place_; }
  void Copied(int, bool on_device) override {
    EXPECT_EQ(on_device, place_.device != nullptr);
    ++copies;
  }
  Binding binding;
  int copies = 0;

 private:
  const Place place_;
};

TEST_F(DeviceMemory, PlannedDeviceValueHasACopyOnTheHost) {
  void* const planned = device_->Allocate(sizeof(float));
  SetOnDevice(planned, 1);
  Plan plan({planned, device_.get()}, device_.get());
  SyncedMemory memory(sizeof(float)), the_same(sizeof(float));
  memory.Bind(&plan.binding);
  the_same.Bind(&plan.binding);
  EXPECT_EQ(memory.gpu_data(), planned);
  EXPECT_EQ(plan.copies, 0);
  EXPECT_EQ(*static_cast<const float*>(memory.cpu_data()), 1);
  EXPECT_EQ(plan.copies, 1);
  *static_cast<float*>(memory.mutable_cpu_data()) = 2;
  EXPECT_EQ(*static_cast<const float*>(the_same.cpu_data()), 2);
  EXPECT_EQ(OnDevice(planned), 1);
  EXPECT_EQ(OnDevice(the_same.gpu_data()), 2);
  EXPECT_EQ(the_same.gpu_data(), planned);
  SetOnDevice(the_same.mutable_gpu_data(), 3);
  EXPECT_EQ(*static_cast<const float*>(memory.cpu_data()), 3);
  EXPECT_EQ(plan.copies, 1);
  plan.binding.sides.reset();
  for (SyncedMemory* bound : {&memory, &the_same}) bound->Unbind(planned, sizeof(float));
  EXPECT_EQ(*static_cast<const float*>(memory.cpu_data()), 3);
}

TEST_F(DeviceMemory, PlannedHostValueHasACopyOnTheDevice) {
  float planned = 1;
  Plan plan({&planned}, device_.get());
  SyncedMemory memory(sizeof(float));
  memory.Bind(&plan.binding);
  EXPECT_EQ(memory.cpu_data(), &planned);
  EXPECT_EQ(OnDevice(memory.gpu_data()), 1);
  SetOnDevice(memory.mutable_gpu_data(), 2);
  EXPECT_EQ(memory.cpu_data(), &planned);
  EXPECT_EQ(planned, 2);
  plan.binding.sides.reset();
  memory.Unbind(nullptr, 0);
}

TEST_F(DeviceMemory, PlannedValueStaysOnThePlansDevice) {
  const std::unique_ptr<layrub::Device> another = layrub::MakeEmulatedDevice(1 << 20);
  void* const planned = device_->Allocate(sizeof(float));
  SetOnDevice(planned, 1);
  Plan plan({planned, device_.get()}, device_.get());
  SyncedMemory memory(sizeof(float));
  memory.Bind(&plan.binding);
  const DeviceScope scope(another.get());
  EXPECT_EQ(*static_cast<const float*>(memory.cpu_data()), 1);
  *static_cast<float*>(memory.mutable_cpu_data()) = 2;
  EXPECT_EQ(memory.gpu_data(), planned);
  EXPECT_EQ(OnDevice(planned), 2);
  plan.binding.sides.reset();
  memory.SetZero();
  EXPECT_EQ(memory.gpu_data(), planned);
  EXPECT_EQ(OnDevice(planned), 0);
  SetOnDevice(memory.mutable_gpu_data(), 3);
  memory.Unbind(planned, sizeof(float));
  EXPECT_EQ(*static_cast<const float*>(memory.cpu_data()), 3);
}

TEST_F(DeviceMemory, BlobsComputeWhereTheirValuesAre) {
  Caffe::set_mode(Caffe::GPU);
  Blob<float> blob(vector<int>{2});
  blob.mutable_cpu_data()[0] = 3;
  blob.mutable_cpu_data()[1] = -4;
  blob.mutable_cpu_diff()[0] = 1;
  for (const bool gpu : {false, true}) {
    if (gpu) {
      blob.mutable_gpu_data();
      blob.mutable_gpu_diff();
    }
    EXPECT_EQ(blob.asum_data(), 7);
    EXPECT_EQ(blob.sumsq_data(), 25);
    EXPECT_EQ(blob.sumsq_diff(), 1);
  }
  blob.Update();
  blob.scale_data(2);
  EXPECT_EQ(blob.data()->head(), SyncedMemory::HEAD_AT_GPU);
  Blob<float> copy;
  copy.CopyFrom(blob, false, true);
  EXPECT_EQ(copy.cpu_data()[0], 4);
  EXPECT_EQ(copy.cpu_data()[1], -8);
}

#ifdef CPU_ONLY
TEST(DeviceErrors, GpuSideRequiresADevice) {
  if (Caffe::chosen_device()) GTEST_SKIP() << "A device is chosen for all tests of this program.";
  SyncedMemory memory(4);
  EXPECT_ERROR(memory.gpu_data(), "Cannot use GPU in CPU-only Caffe: check mode.");
}
#endif

}  // namespace
}  // namespace caffe
