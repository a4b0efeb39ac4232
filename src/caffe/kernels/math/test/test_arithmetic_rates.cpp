#include "caffe/util/arithmetic_rates.hpp"

#include <gtest/gtest.h>

#include "caffe/common.hpp"
#include "caffe/util/library_settings.hpp"
#include "layrub/device/device.hpp"

namespace caffe {
namespace {

TEST(ArithmeticRates, RestoreTheRoundingSetting) {
  const Tf32 before = library_settings().tf32;
  MeasureArithmetic();
  EXPECT_EQ(library_settings().tf32, before);
}

TEST(ArithmeticRates, ArePlausibleAndFreeTheirMemory) {
  const bool gpu = Caffe::mode() == Caffe::GPU;
  const int64_t free = gpu ? Caffe::device().free_bytes() : 0;
  const ArithmeticRates rates = MeasureArithmetic();
  EXPECT_GT(rates.flops, 1e8);
  EXPECT_LT(rates.flops, 1e16);
  if (gpu) {
    EXPECT_GT(rates.tf32_flops, 0.5 * rates.flops);
    EXPECT_LT(rates.tf32_flops, 1e16);
  } else {
    EXPECT_EQ(rates.tf32_flops, 0);
  }
  EXPECT_GT(rates.memory_bandwidth, 1e7);
  EXPECT_LT(rates.memory_bandwidth, 1e14);
  // A GPU's libraries keep some memory, but far less than the vectors took.
  if (gpu) {
    EXPECT_GT(Caffe::device().free_bytes(), free - (int64_t{50} << 20));
  }
}

}  // namespace
}  // namespace caffe
