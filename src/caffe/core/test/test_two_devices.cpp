// One thread that uses two GPUs alternately.
#include <gtest/gtest.h>

#include "caffe/blob.hpp"
#include "caffe/device_context.hpp"
#include "caffe/kernels/math/gemm.hpp"
#include "caffe/kernels/shape/copy.hpp"
#include "layrub/device/device.hpp"

namespace caffe {
namespace {

using kernels::Transpose;

constexpr int kN = 6;

TEST(TwoDevices, CopiesOnOneDoNotRedirectKernelsOfTheOther) {
  if (Caffe::mode() == Caffe::CPU || layrub::GpuCount() < 2) GTEST_SKIP() << "Needs two GPUs.";
  Caffe::SetDevice(0);
  Blob<float> first({kN});
  kernels::Fill(DeviceContext::Current(), kN, 2.f, first.mutable_gpu_data());
  Caffe::SetDevice(1);
  Blob<float> second({kN}), product({1});
  const DeviceContext context = DeviceContext::Current();
  float* const values = second.mutable_gpu_data();
  float* const sum = product.mutable_gpu_data();
  // Copying from and to the first device makes it the thread's current one.
  EXPECT_EQ(first.cpu_data()[kN - 1], 2);
  kernels::Fill(context, kN, 6.f, values);
  first.mutable_cpu_data()[0] = 5;
  first.gpu_data();
  kernels::Gemm(context, Transpose::kNo, Transpose::kYes, 1, 1, kN, 1.f, values, values, 0.f, sum);
  EXPECT_EQ(second.cpu_data()[0], 6);
  EXPECT_EQ(product.cpu_data()[0], 36 * kN);
  Caffe::SetDevice(0);
}

}  // namespace
}  // namespace caffe
