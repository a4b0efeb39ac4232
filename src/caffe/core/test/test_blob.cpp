#include <gtest/gtest.h>

#include <thread>

#include "caffe/blob.hpp"
#include "caffe/test/expect_error.hpp"
#include "layrub/device/device.hpp"

namespace caffe {
namespace {

template <typename Dtype>
class BlobTest : public ::testing::Test {};
using Types = ::testing::Types<float, double>;
TYPED_TEST_SUITE(BlobTest, Types);

TYPED_TEST(BlobTest, HasNoAxesUntilItIsReshaped) {
  Blob<TypeParam> empty;
  EXPECT_EQ(empty.num_axes(), 0);
  EXPECT_EQ(empty.count(), 0);
  Blob<TypeParam> blob(2, 3, 4, 5);
  EXPECT_EQ(blob.num(), 2);
  EXPECT_EQ(blob.channels(), 3);
  EXPECT_EQ(blob.height(), 4);
  EXPECT_EQ(blob.width(), 5);
  EXPECT_EQ(blob.count(), 120);
  EXPECT_EQ(blob.count(1, 3), 12);
  EXPECT_EQ(blob.count(2), 20);
  EXPECT_EQ(blob.shape_string(), "2 3 4 5 (120)");
}

TYPED_TEST(BlobTest, ScalarsHaveOneValue) {
  Blob<TypeParam> blob((std::vector<int>()));
  EXPECT_EQ(blob.count(), 1);
  EXPECT_EQ(blob.num_axes(), 0);
  EXPECT_EQ(blob.LegacyShape(-1), 1);
}

TYPED_TEST(BlobTest, ChecksItsCountIn64Bits) {
  Blob<TypeParam> blob;
  EXPECT_ERROR(blob.Reshape({1 << 16, 1 << 16}), "blob size exceeds INT_MAX");
  EXPECT_ERROR(blob.Reshape({2, -1}), "negative");
  BlobShape far_below;  // whose low 32 bits are 0
  far_below.add_dim(-(int64_t{1} << 40));
  EXPECT_ERROR(blob.Reshape(far_below), "negative");
  blob.Reshape({0, 1 << 16, 1 << 16});
  EXPECT_EQ(blob.count(), 0);
  EXPECT_EQ(blob.count(0, 2), 0);
  EXPECT_ERROR(blob.count(1), "more than INT_MAX values");
}

TYPED_TEST(BlobTest, KeepsItsMemoryWhenItShrinks) {
  Blob<TypeParam> blob(1, 1, 4, 4);
  const TypeParam* memory = blob.cpu_data();
  blob.Reshape(1, 1, 2, 2);
  EXPECT_EQ(blob.cpu_data(), memory);
  blob.Reshape(1, 1, 5, 5);
  EXPECT_EQ(blob.cpu_data()[24], TypeParam(0));
}

TYPED_TEST(BlobTest, AddressesValuesRowMajor) {
  Blob<TypeParam> blob(2, 3, 4, 5);
  for (int i = 0; i < blob.count(); ++i) blob.mutable_cpu_data()[i] = i;
  EXPECT_EQ(blob.data_at(1, 2, 3, 4), 119);
  EXPECT_EQ(blob.data_at({1, 0, 2, 1}), 71);
  EXPECT_EQ(blob.offset({1}), 60);
}

TYPED_TEST(BlobTest, RoundTripsThroughProto) {
  Blob<TypeParam> blob(1, 2, 1, 3), copy;
  for (int i = 0; i < 6; ++i) {
    blob.mutable_cpu_data()[i] = TypeParam(i) / 3;
    blob.mutable_cpu_diff()[i] = -i;
  }
  BlobProto proto;
  blob.ToProto(&proto, true);
  copy.FromProto(proto);
  EXPECT_EQ(copy.shape(), blob.shape());
  for (int i = 0; i < 6; ++i) {
    EXPECT_EQ(copy.cpu_data()[i], blob.cpu_data()[i]);
    EXPECT_EQ(copy.cpu_diff()[i], blob.cpu_diff()[i]);
  }
}

TYPED_TEST(BlobTest, ReadsTheShapesOfOldFiles) {
  BlobProto old;
  old.set_num(1);
  old.set_channels(1);
  old.set_height(2);
  old.set_width(3);
  for (int i = 0; i < 6; ++i) old.add_data(i);
  Blob<TypeParam> matrix({2, 3}), vector({6});
  EXPECT_TRUE(matrix.ShapeEquals(old));
  EXPECT_FALSE(vector.ShapeEquals(old));
  matrix.FromProto(old, false);
  EXPECT_EQ(matrix.cpu_data()[5], 5);
}

TYPED_TEST(BlobTest, RejectsMessagesWithTooFewValues) {
  BlobProto proto;
  proto.mutable_shape()->add_dim(3);
  proto.add_data(1);
  Blob<TypeParam> blob;
  EXPECT_ERROR(blob.FromProto(proto), "1 values where its shape needs 3");
}

TYPED_TEST(BlobTest, SharesBytesByHandle) {
  Blob<TypeParam> a({4}), b({2, 2});
  b.ShareData(a);
  a.mutable_cpu_data()[3] = 9;
  EXPECT_EQ(b.cpu_data()[3], 9);
  EXPECT_EQ(a.data(), b.data());
  EXPECT_NE(a.diff(), b.diff());
  Blob<TypeParam> c({3});
  EXPECT_ERROR(c.ShareData(a), "same count");
}

TYPED_TEST(BlobTest, UpdatesAndSums) {
  Blob<TypeParam> blob({3});
  for (int i = 0; i < 3; ++i) {
    blob.mutable_cpu_data()[i] = i;
    blob.mutable_cpu_diff()[i] = 1;
  }
  blob.Update();
  EXPECT_EQ(blob.cpu_data()[0], -1);
  EXPECT_EQ(blob.asum_data(), 2);
  EXPECT_EQ(blob.sumsq_diff(), 3);
  blob.scale_data(2);
  EXPECT_EQ(blob.cpu_data()[2], 2);
}

/// Without a GPU (as in a CPU-only build), GPU mode leaves blobs on the host.
TYPED_TEST(BlobTest, WorksOnTheHostInGpuModeWithoutAGpu) {
  if (layrub::GpuCount() > 0) GTEST_SKIP() << "there is a GPU";
  std::thread([] {  // a thread that has chosen no device
    Caffe::set_mode(Caffe::GPU);
    Blob<TypeParam> blob(vector<int>{3}), copy;
    for (int i = 0; i < 3; ++i) {
      blob.mutable_cpu_data()[i] = TypeParam(i + 1);
      blob.mutable_cpu_diff()[i] = TypeParam(1);
    }
    blob.Update();
    EXPECT_EQ(blob.cpu_data()[2], 2);
    EXPECT_EQ(blob.asum_data(), 3);
    EXPECT_EQ(blob.sumsq_diff(), 3);
    blob.scale_data(2);
    copy.CopyFrom(blob, false, true);
    EXPECT_EQ(copy.cpu_data()[2], 4);
    EXPECT_EQ(Blob<TypeParam>(vector<int>{2}).asum_diff(), 0);
    void* memory = nullptr;
    bool use_cuda = true;
    CaffeMallocHost(&memory, 8, &use_cuda);
    EXPECT_FALSE(use_cuda);
    CaffeFreeHost(memory, use_cuda);
    EXPECT_ERROR(blob.gpu_data(), "GPU");
  })
      .join();
}

TYPED_TEST(BlobTest, TakesUserMemoryOfItsPresentSize) {
  Blob<TypeParam> blob({8});
  blob.Reshape({4});
  TypeParam mine[4] = {1, 2, 3, 4};
  blob.set_cpu_data(mine);
  EXPECT_EQ(blob.cpu_data(), mine);
  EXPECT_EQ(blob.data()->size(), sizeof(mine));
}

}  // namespace
}  // namespace caffe
