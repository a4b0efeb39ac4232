#include "caffe/layers/test/variant_check.hpp"

namespace caffe {
namespace {

const char kReLU[] = "name: 'relu' type: 'ReLU'";
const char kLeaky[] = "name: 'relu' type: 'ReLU' relu_param { negative_slope: 0.25 }";
const char kNegative[] = "name: 'relu' type: 'ReLU' relu_param { negative_slope: -0.5 }";
const char kSigmoid[] = "name: 'sigmoid' type: 'Sigmoid'";
const char kTanH[] = "name: 'tanh' type: 'TanH'";

TEST(ReLU, KeepsPositiveValuesAndScalesNegativeOnes) {
  LayerCase relu(kLeaky, {{3}}, 1);
  relu.SetUp();
  const double x[] = {-2, 0, 3};
  std::copy_n(x, 3, relu.bottom[0]->mutable_cpu_data());
  EXPECT_EQ(relu.DiffsOfVariant(0), (vector<double>{0.25, 0.5, 3}));
  EXPECT_EQ(relu.outputs, (vector<double>{-0.5, 0, 3}));
}

TEST(ReLU, KeepsNaNAndGivesZeroForMinusInfinity) {
  LayerCase relu(kReLU, {{2}}, 1);
  relu.SetUp();
  relu.bottom[0]->mutable_cpu_data()[0] = NAN;
  relu.bottom[0]->mutable_cpu_data()[1] = -INFINITY;
  relu.layer->Forward(relu.bottom, relu.top);
  EXPECT_TRUE(std::isnan(relu.top[0]->cpu_data()[0]));
  EXPECT_EQ(relu.top[0]->cpu_data()[1], 0);
}

TEST(ReLU, AllVariantsGiveTheGradient) {
  CheckAllVariants(kReLU, {{2, 3, 5}}, 1, 3, -1, 0.001);
  CheckAllVariants(kLeaky, {{2, 3, 5}}, 1, 3, -1, 0.001);
}

TEST(ReLU, OffersNoTopVariantForANegativeSlope) {
  CheckAllVariants(kNegative, {{2, 3, 5}}, 1, 2, -1, 0.001);
}

TEST(ReLU, SavesOneBitPerValue) {
  LayerCase relu(kReLU, {{17}}, 1);
  relu.SetUp();
  ASSERT_EQ(relu.Traits().saved.size(), 1u);
  EXPECT_EQ(relu.Traits().saved[0].bytes, 3);
}

TEST(ReLU, RunsInPlace) {
  CheckInPlace(kReLU, {{2, 3, 5}});
  CheckInPlace(kLeaky, {{2, 3, 5}});
  CheckInPlace(kNegative, {{2, 3, 5}});
}

TEST(ReLU, MaskVariantIsRightOnManyThreads) {
  LayerCase relu(kReLU, {{300001}}, 1);
  relu.SetUp();
  EXPECT_EQ(relu.DiffsOfVariant(0), relu.DiffsOfVariant(1));
}

TEST(Sigmoid, AllVariantsGiveTheGradient) { CheckAllVariants(kSigmoid, {{2, 3, 5}}, 1, 2); }

TEST(Sigmoid, RunsInPlace) { CheckInPlace(kSigmoid, {{2, 3, 5}}); }

TEST(Sigmoid, IsAccurateFarFromZero) {
  LayerCase sigmoid(kSigmoid, {{5}}, 1);
  sigmoid.SetUp();
  const double x[] = {0, 2, -800, 800, -30};
  std::copy_n(x, 5, sigmoid.bottom[0]->mutable_cpu_data());
  sigmoid.layer->Forward(sigmoid.bottom, sigmoid.top);
  const double* y = sigmoid.top[0]->cpu_data();
  EXPECT_EQ(y[0], 0.5);
  EXPECT_DOUBLE_EQ(y[1], 1 / (1 + std::exp(-2.0)));
  EXPECT_EQ(y[2], 0);
  EXPECT_EQ(y[3], 1);
  EXPECT_DOUBLE_EQ(y[4], std::exp(-30.0) / (1 + std::exp(-30.0)));
}

TEST(TanH, AllVariantsGiveTheGradient) { CheckAllVariants(kTanH, {{2, 3, 5}}, 1, 2); }

TEST(TanH, RunsInPlace) { CheckInPlace(kTanH, {{2, 3, 5}}); }

TEST(TanH, ComputesTheHyperbolicTangent) {
  LayerCase tanh(kTanH, {{4}}, 1);
  tanh.SetUp();
  tanh.layer->Forward(tanh.bottom, tanh.top);
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(tanh.top[0]->cpu_data()[i], std::tanh(tanh.bottom[0]->cpu_data()[i]));
  }
}

}  // namespace
}  // namespace caffe
