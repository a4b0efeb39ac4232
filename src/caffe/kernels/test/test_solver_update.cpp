#include <gtest/gtest.h>

#include <vector>

#include "caffe/kernels/solver_update.hpp"

namespace caffe {
namespace kernels {
namespace {

const DeviceContext kCpu;

TEST(SolverUpdate, AddsDecay) {
  const std::vector<double> weight = {2, -4, 0};
  std::vector<double> gradient = {1, 1, 1};
  AddDecayL2(kCpu, 3, 0.5, weight.data(), gradient.data());
  EXPECT_EQ(gradient, (std::vector<double>{2, -1, 1}));
  AddDecayL1(kCpu, 3, 0.5, weight.data(), gradient.data());
  EXPECT_EQ(gradient, (std::vector<double>{2.5, -1.5, 1}));
}

TEST(SolverUpdate, StepsWithMomentum) {
  std::vector<float> gradient = {4, 8}, history = {1, -2}, weight = {10, 10};
  SgdUpdate(kCpu, 2, 0.25f, 0.5f, gradient.data(), history.data());
  EXPECT_EQ(history, (std::vector<float>{1.5f, 1}));
  EXPECT_EQ(gradient, history);
  SubtractStep(kCpu, 2, gradient.data(), weight.data());
  EXPECT_EQ(weight, (std::vector<float>{8.5f, 9}));
  Scale(kCpu, 2, 2.f, weight.data());
  EXPECT_EQ(weight, (std::vector<float>{17, 18}));
}

TEST(SolverUpdate, SumsSquares) {
  for (int n : {0, 1, 7, 8, 9, 1000}) {
    std::vector<double> x(n);
    double expected = 0;
    for (int i = 0; i < n; ++i) {
      x[i] = i;
      expected += x[i] * x[i];
    }
    double sum = -1;
    SumSquares(kCpu, n, x.data(), &sum);
    EXPECT_EQ(sum, expected);
  }
}

}  // namespace
}  // namespace kernels
}  // namespace caffe
