#include "caffe/pending_reads.hpp"

#include <gtest/gtest.h>

#include <stdexcept>
#include <vector>

#include "caffe/test/device_scope.hpp"
#include "layrub/device/emulated_device.hpp"

namespace caffe {
namespace {

class PendingReadsTest : public ::testing::Test {
 protected:
  PendingReadsTest() : memory_(static_cast<char*>(device_.Allocate(1024))) {}
  ~PendingReadsTest() override { device_.Free(memory_); }

  void Set(int index, int value) { device_.Copy(Int(index), &value, sizeof(value)); }
  int* Int(int index) const { return reinterpret_cast<int*>(memory_) + index; }

  /// Adds Int(index), to be seen in `seen_`.
  void Add(PendingReads* reads, int index) {
    reads->Add(context_, Int(index), sizeof(int),
               [this](const void* copy) { seen_.push_back(*static_cast<const int*>(copy)); });
  }

  layrub::EmulatedDevice device_{int64_t{1} << 20, 0};
  const DeviceContext context_{true, false, nullptr, &device_};
  char* const memory_;
  std::vector<int> seen_;
};

TEST_F(PendingReadsTest, SeeTheValuesAtTheirAddInOrder) {
  Set(0, 7);
  Set(1, 8);
  PendingReads reads;
  Add(&reads, 1);
  Add(&reads, 0);
  Set(0, 1);
  Set(1, 1);
  EXPECT_TRUE(seen_.empty());
  const int64_t waits = device_.host_reads();
  reads.Look();
  EXPECT_EQ(seen_, (std::vector<int>{8, 7}));
  EXPECT_EQ(device_.host_reads(), waits) << "they have been copied when they were added";
  reads.Look();
  EXPECT_EQ(seen_.size(), 2u) << "once";
  EXPECT_EQ(device_.host_pool().used(), 0);
}

TEST_F(PendingReadsTest, AreDroppedAfterAnExceptionAndWithoutLook) {
  Set(0, 7);
  PendingReads reads;
  reads.Add(context_, Int(0), sizeof(int), [](const void*) { throw std::runtime_error("seven"); });
  Add(&reads, 0);
  EXPECT_THROW(reads.Look(), std::runtime_error);
  EXPECT_TRUE(seen_.empty());
  reads.Look();
  EXPECT_TRUE(seen_.empty());
  {
    PendingReads dropped;
    Add(&dropped, 0);
    EXPECT_GT(device_.host_pool().used(), 0);
  }
  EXPECT_TRUE(seen_.empty());
  EXPECT_EQ(device_.host_pool().used(), 0);
}

TEST_F(PendingReadsTest, AreImmediateWithoutADevice) {
  const int value = 3;
  PendingReads reads;
  const void* seen = nullptr;
  reads.Add(DeviceContext(), &value, sizeof(value), [&](const void* there) { seen = there; });
  EXPECT_EQ(seen, &value);
}

}  // namespace
}  // namespace caffe
