#include "caffe/filler.hpp"

#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "caffe/test/expect_error.hpp"
#include "caffe/util/math_functions.hpp"

namespace caffe {
namespace {

template <typename Dtype>
class Fillers : public ::testing::Test {
 protected:
  Fillers() { Caffe::set_random_seed(7); }

  static std::vector<Dtype> Fill(const string& param_text, const std::vector<int>& shape) {
    FillerParameter param;
    CHECK(google::protobuf::TextFormat::ParseFromString(param_text, &param));
    Blob<Dtype> blob(shape);
    std::unique_ptr<Filler<Dtype>>(GetFiller<Dtype>(param))->Fill(&blob);
    return std::vector<Dtype>(blob.cpu_data(), blob.cpu_data() + blob.count());
  }
  static double Mean(const std::vector<Dtype>& values) {
    double sum = 0;
    for (const Dtype value : values) sum += value;
    return sum / values.size();
  }
  static double Deviation(const std::vector<Dtype>& values) {
    const double mean = Mean(values);
    double sum = 0;
    for (const Dtype value : values) sum += (value - mean) * (value - mean);
    return std::sqrt(sum / values.size());
  }
  static double LargestMagnitude(const std::vector<Dtype>& values) {
    double largest = 0;
    for (const Dtype value : values) largest = std::max(largest, std::fabs(double(value)));
    return largest;
  }
};

typedef ::testing::Types<float, double> Dtypes;
TYPED_TEST_SUITE(Fillers, Dtypes);

TYPED_TEST(Fillers, ConstantIsTheDefault) {
  EXPECT_EQ(this->Fill("value: 2.5", {2, 2}), std::vector<TypeParam>(4, 2.5));
  EXPECT_EQ(this->Fill("", {3}), std::vector<TypeParam>(3, 0));
}

TYPED_TEST(Fillers, UniformStaysInItsRange) {
  const std::vector<TypeParam> values = this->Fill("type: 'uniform' min: 1 max: 2", {100, 30});
  for (const TypeParam value : values) {
    EXPECT_GE(value, 1);
    EXPECT_LE(value, 2);
  }
  EXPECT_NEAR(this->Mean(values), 1.5, 0.03);
}

TYPED_TEST(Fillers, IntegersAreUniform) {
  std::vector<int> counts(4);
  for (const TypeParam value : this->Fill("type: 'integer' min: 2 max: 5", {4000})) {
    EXPECT_EQ(std::floor(value), value);
    ASSERT_TRUE(value >= 2 && value <= 5) << value;
    ++counts[static_cast<int>(value) - 2];
  }
  for (const int count : counts) EXPECT_NEAR(1000, count, 120);
  EXPECT_EQ(this->Fill("type: 'integer' min: 3 max: 3", {2}), std::vector<TypeParam>(2, 3));
}

TYPED_TEST(Fillers, UniformDrawsInOrderOfIndex) {
  const std::vector<TypeParam> values = this->Fill("type: 'uniform'", {2, 5});
  Caffe::set_random_seed(7);
  std::vector<TypeParam> drawn(10);
  caffe_rng_uniform<TypeParam>(10, 0, 1, drawn.data());
  EXPECT_EQ(values, drawn);
}

TYPED_TEST(Fillers, GaussianHasItsMeanAndDeviation) {
  const std::vector<TypeParam> values =
      this->Fill("type: 'gaussian' mean: 10 std: 0.1", {100, 100});
  EXPECT_NEAR(this->Mean(values), 10, 0.005);
  EXPECT_NEAR(this->Deviation(values), 0.1, 0.005);
}

TYPED_TEST(Fillers, SparseGaussianKeepsTheGivenShareOfValues) {
  const std::vector<TypeParam> values = this->Fill("type: 'gaussian' sparse: 10", {100, 200});
  const auto zeros = std::count(values.begin(), values.end(), 0);
  EXPECT_NEAR(double(zeros) / values.size(), 0.9, 0.02);
}

TYPED_TEST(Fillers, UnitballSumsToOneForEachOutput) {
  const std::vector<TypeParam> values = this->Fill("type: 'positive_unitball'", {3, 4, 5});
  for (int output = 0; output < 3; ++output) {
    double sum = 0;
    for (int i = 0; i < 20; ++i) {
      EXPECT_GE(values[output * 20 + i], 0);
      sum += values[output * 20 + i];
    }
    EXPECT_NEAR(sum, 1, 1e-5);
  }
}

// Blob 100 x 20 x 4 x 5: 400 inputs for each output, 2000 outputs for each input.
TYPED_TEST(Fillers, XavierUsesTheVarianceNorm) {
  const std::vector<int> shape = {100, 20, 4, 5};
  const std::vector<std::pair<string, double>> cases = {
      {"FAN_IN", 400}, {"FAN_OUT", 2000}, {"AVERAGE", 1200}};
  for (const auto& [norm, fan] : cases) {
    const std::vector<TypeParam> values =
        this->Fill("type: 'xavier' variance_norm: " + norm, shape);
    const double bound = std::sqrt(3 / fan);
    EXPECT_LE(this->LargestMagnitude(values), bound * 1.000001) << norm;
    EXPECT_GE(this->LargestMagnitude(values), bound * 0.999) << norm;
    EXPECT_NEAR(this->Deviation(values), std::sqrt(1 / fan), 0.02 * bound) << norm;
  }
}

TYPED_TEST(Fillers, MsraUsesTheVarianceNorm) {
  const std::vector<int> shape = {100, 20, 4, 5};
  const std::vector<std::pair<string, double>> cases = {
      {"FAN_IN", 400}, {"FAN_OUT", 2000}, {"AVERAGE", 1200}};
  for (const auto& [norm, fan] : cases) {
    const std::vector<TypeParam> values = this->Fill("type: 'msra' variance_norm: " + norm, shape);
    EXPECT_NEAR(this->Deviation(values), std::sqrt(2 / fan), 0.02 * std::sqrt(2 / fan)) << norm;
  }
}

TYPED_TEST(Fillers, ABiasCountsAsItsOwnFan) {
  const std::vector<TypeParam> values = this->Fill("type: 'xavier' variance_norm: FAN_OUT", {1200});
  EXPECT_LE(this->LargestMagnitude(values), std::sqrt(3.0 / 1200) * 1.000001);
}

TYPED_TEST(Fillers, BilinearInterpolates) {
  for (const int size : {3, 4}) {
    const std::vector<TypeParam> values = this->Fill("type: 'bilinear'", {1, 2, size, size});
    const double factor = std::ceil(size / 2.0), center = (size - 1) / (2 * factor);
    for (int i = 0; i < 2 * size * size; ++i) {
      const double x = i % size, y = (i / size) % size;
      EXPECT_NEAR(values[i],
                  (1 - std::fabs(x / factor - center)) * (1 - std::fabs(y / factor - center)),
                  1e-6);
    }
  }
}

TYPED_TEST(Fillers, AbortsOnInvalidBlobsAndParameters) {
  EXPECT_ERROR(this->Fill("type: 'magic'", {1}), "Unknown filler name: magic");
  EXPECT_ERROR(this->Fill("type: 'uniform' sparse: 2", {1}), "Sparsity not supported");
  EXPECT_ERROR(this->Fill("type: 'xavier'", {2, 0}), "A xavier filler was given an empty blob");
  EXPECT_ERROR(this->Fill("type: 'bilinear'", {1, 1, 2, 3}), "the kernel must be square");
  EXPECT_ERROR(this->Fill("type: 'bilinear'", {2, 2}),
               "bilinear filler: it fills .* 4 axes, and not 2 2");
}

}  // namespace
}  // namespace caffe
