#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "caffe/kernels/solver_update.hpp"
#include "caffe/test/body_memory.hpp"

namespace caffe {
namespace kernels {
namespace {

/// An array where the kernels run.
template <typename T>
class Array {
 public:
  explicit Array(const std::vector<T>& values)
      : count_(values.size()), memory_(count_ * sizeof(T)) {
    Put(values, memory_.address());
  }
  T* data() const { return static_cast<T*>(memory_.address()); }
  std::vector<T> values() const { return Get<T>(data(), count_); }

 private:
  const size_t count_;
  const BodyMemory memory_;
};

TEST(SolverUpdate, AddsDecay) {
  const DeviceContext context = DeviceContext::Current();
  const Array<double> weight({2, -4, 0}), gradient({1, 1, 1});
  AddDecayL2(context, 3, 0.5, weight.data(), gradient.data());
  EXPECT_EQ(gradient.values(), (std::vector<double>{2, -1, 1}));
  AddDecayL1(context, 3, 0.5, weight.data(), gradient.data());
  EXPECT_EQ(gradient.values(), (std::vector<double>{2.5, -1.5, 1}));
}

TEST(SolverUpdate, StepsWithMomentum) {
  const DeviceContext context = DeviceContext::Current();
  const Array<float> gradient({4, 8}), history({1, -2}), weight({10, 10});
  SgdUpdate(context, 2, 0.25f, 0.5f, gradient.data(), history.data());
  EXPECT_EQ(history.values(), (std::vector<float>{1.5f, 1}));
  EXPECT_EQ(gradient.values(), history.values());
  SubtractStep(context, 2, gradient.data(), weight.data());
  EXPECT_EQ(weight.values(), (std::vector<float>{8.5f, 9}));
  Scale(context, 2, 2.f, weight.data());
  EXPECT_EQ(weight.values(), (std::vector<float>{17, 18}));
}

TEST(SolverUpdate, StepsWithMomentumInAdvance) {
  const Array<float> gradient({4, 8}), history({1, -2});
  NesterovUpdate(DeviceContext::Current(), 2, 0.25f, 0.5f, gradient.data(), history.data());
  EXPECT_EQ(history.values(), (std::vector<float>{1.5f, 1}));
  EXPECT_EQ(gradient.values(), (std::vector<float>{1.75f, 2.5f}));
}

TEST(SolverUpdate, DividesByTheRootOfTheSumOfSquares) {
  const Array<double> gradient({3, 0}), squares({7, 0});
  AdaGradUpdate(DeviceContext::Current(), 2, 0.5, 1.0, gradient.data(), squares.data());
  EXPECT_EQ(squares.values(), (std::vector<double>{16, 0}));
  EXPECT_EQ(gradient.values(), (std::vector<double>{0.3, 0}));
}

TEST(SolverUpdate, DividesByTheRootOfTheMeanOfSquares) {
  const Array<double> gradient({4, 0}), squares({2, 0});
  RmsPropUpdate(DeviceContext::Current(), 2, 0.5, 0.5, 1.0, gradient.data(), squares.data());
  EXPECT_EQ(squares.values(), (std::vector<double>{9, 0}));
  EXPECT_EQ(gradient.values(), (std::vector<double>{0.5, 0}));
}

TEST(SolverUpdate, StepsAsFarAsItsStepsHaveBeen) {
  const Array<double> gradient({4, 0}), squares({0, 0}), steps({1, 0});
  AdaDeltaUpdate(DeviceContext::Current(), 2, 0.25, 0.5, 1.0, gradient.data(), squares.data(),
                 steps.data());
  EXPECT_EQ(squares.values(), (std::vector<double>{8, 0}));
  const double step = 4 * std::sqrt(2.0 / 9);
  EXPECT_DOUBLE_EQ(steps.values()[0], 0.5 + 0.5 * step * step);
  EXPECT_DOUBLE_EQ(gradient.values()[0], 0.25 * step);
  EXPECT_EQ(gradient.values()[1], 0);
}

TEST(SolverUpdate, DividesTheMeanByTheRootOfTheMeanOfSquares) {
  const Array<double> gradient({4, 0}), mean({2, 0}), squares({20, 0});
  AdamUpdate(DeviceContext::Current(), 2, 0.5, 0.5, 0.75, 1.0, gradient.data(), mean.data(),
             squares.data());
  EXPECT_EQ(mean.values(), (std::vector<double>{3, 0}));
  EXPECT_EQ(squares.values(), (std::vector<double>{19, 0}));
  EXPECT_DOUBLE_EQ(gradient.values()[0], 1.5 / (std::sqrt(19.0) + 1));
  EXPECT_EQ(gradient.values()[1], 0);
}

TEST(SolverUpdate, ClipsToANormWhereItIsMore) {
  const DeviceContext context = DeviceContext::Current();
  const Array<double> squares({9, 0, 16}), norm({0}), factor({0}), gradient({3, -4});
  for (const double limit : {5.0, 2.5}) {
    ClipFactor(context, 3, squares.data(), limit, norm.data(), factor.data());
    EXPECT_EQ(norm.values(), std::vector<double>{5});
    EXPECT_EQ(factor.values(), std::vector<double>{limit / 5});
    ScaleBy(context, 2, factor.data(), gradient.data());
    EXPECT_EQ(gradient.values(), (std::vector<double>{3 * limit / 5, -4 * limit / 5}));
  }
}

TEST(SolverUpdate, ANormThatIsNoNumberMakesTheGradientsNone) {
  const DeviceContext context = DeviceContext::Current();
  const Array<float> squares({NAN}), norm({0}), factor({0}), gradient({1});
  ClipFactor(context, 1, squares.data(), 5.0f, norm.data(), factor.data());
  ScaleBy(context, 1, factor.data(), gradient.data());
  EXPECT_TRUE(std::isnan(gradient.values()[0]));
}

TEST(SolverUpdate, SumsSquares) {
  for (int n : {0, 1, 7, 8, 9, 1000}) {
    std::vector<double> values(n);
    double expected = 0;
    for (int i = 0; i < n; ++i) {
      values[i] = i;
      expected += values[i] * values[i];
    }
    const Array<double> x(values), sum({-1});
    SumSquares(DeviceContext::Current(), n, x.data(), sum.data());
    EXPECT_EQ(sum.values(), std::vector<double>{expected});
  }
}

}  // namespace
}  // namespace kernels
}  // namespace caffe
