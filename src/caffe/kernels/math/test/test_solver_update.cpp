#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <vector>

#include "caffe/kernels/math/solver_update.hpp"
#include "caffe/test/body_memory.hpp"

namespace caffe {
namespace kernels {
namespace {

/// An array in the memory of the kernels' device.
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

TEST(SolverUpdate, LooksAheadByMomentum) {
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

TEST(SolverUpdate, ScalesByTheRootOfTheMeanOfPastSteps) {
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

TEST(SolverUpdate, ClipsGradientsOverTheLimit) {
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

TEST(SolverUpdate, DoesNotScaleByANormThatIsNaN) {
  const DeviceContext context = DeviceContext::Current();
  const Array<float> squares({NAN, 1}), norm({0}), factor({0}), gradient({1});
  ClipFactor(context, 2, squares.data(), 5.0f, norm.data(), factor.data());
  ScaleBy(context, 1, factor.data(), gradient.data());
  EXPECT_TRUE(std::isnan(norm.values()[0]));
  EXPECT_EQ(gradient.values(), std::vector<float>{1});
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

/// A parameter and the arrays that its updates need.
template <typename Dtype>
struct Parameter {
  int n;
  Array<Dtype> weight, gradient, first, second;
  explicit Parameter(int count)
      : n(count),
        weight(Numbers(count, 3, -1)),
        gradient(Numbers(count, 5, -2)),
        first(Numbers(count, 7, 0)),
        second(Numbers(count, 11, 0)) {}

  static std::vector<Dtype> Numbers(int count, int step, int least) {
    std::vector<Dtype> numbers(count);
    for (int i = 0; i < count; ++i)
      numbers[i] = static_cast<Dtype>(least) + static_cast<Dtype>(i * step % 64 + 1) / Dtype(19);
    return numbers;
  }
};

/// Runs all steps of a solver for parameter `index`, which determines which of six solvers.
template <typename Dtype>
void Update(int index, const Parameter<Dtype>& p) {
  const DeviceContext context = DeviceContext::Current();
  Dtype* const g = p.gradient.data();
  if (index % 2 == 0) Scale(context, p.n, Dtype(0.3), g);
  if (index % 3 == 1) AddDecayL2(context, p.n, Dtype(0.01), p.weight.data(), g);
  if (index % 3 == 2) AddDecayL1(context, p.n, Dtype(0.01), p.weight.data(), g);
  const Dtype rate(0.1), decay(0.9), delta(0.001);
  switch (index % 6) {
    case 0:
      SgdUpdate(context, p.n, rate, decay, g, p.first.data());
      break;
    case 1:
      NesterovUpdate(context, p.n, rate, decay, g, p.first.data());
      break;
    case 2:
      AdaGradUpdate(context, p.n, rate, delta, g, p.first.data());
      break;
    case 3:
      RmsPropUpdate(context, p.n, rate, decay, delta, g, p.first.data());
      break;
    case 4:
      AdaDeltaUpdate(context, p.n, rate, decay, delta, g, p.first.data(), p.second.data());
      break;
    default:
      AdamUpdate(context, p.n, rate, decay, Dtype(0.99), delta, g, p.first.data(), p.second.data());
  }
  SubtractStep(context, p.n, g, p.weight.data());
}

template <typename Dtype>
class UpdateBatches : public testing::Test {};
using Precisions = testing::Types<float, double>;
TYPED_TEST_SUITE(UpdateBatches, Precisions);

TYPED_TEST(UpdateBatches, GiveTheBitsOfSeparateStepsInFewerKernels) {
  std::vector<std::unique_ptr<Parameter<TypeParam>>> one_by_one, together;
  const int sizes[] = {1, 7, 1024, 31, 32, 1025, 100, 0, 17000};  // a CPU tile has 1,024 values
  constexpr int kParameters = 70;
  for (int i = 0; i < kParameters; ++i) {
    one_by_one.push_back(std::make_unique<Parameter<TypeParam>>(sizes[i % 9]));
    together.push_back(std::make_unique<Parameter<TypeParam>>(sizes[i % 9]));
  }
  for (int i = 0; i < kParameters; ++i) Update(i, *one_by_one[i]);
  UpdateBatch<TypeParam> batch;
  for (int i = 0; i < kParameters; ++i) Update(i, *together[i]);
  batch.Finish();
  EXPECT_EQ(batch.launches() > 0, DeviceContext::Current().launch);
  EXPECT_LT(batch.launches(), 6);
  for (int i = 0; i < kParameters; ++i) {
    EXPECT_EQ(one_by_one[i]->weight.values(), together[i]->weight.values()) << i;
    EXPECT_EQ(one_by_one[i]->gradient.values(), together[i]->gradient.values()) << i;
    EXPECT_EQ(one_by_one[i]->first.values(), together[i]->first.values()) << i;
    EXPECT_EQ(one_by_one[i]->second.values(), together[i]->second.values()) << i;
  }
}

TYPED_TEST(UpdateBatches, RunBeforeTheNextKernel) {
  const DeviceContext context = DeviceContext::Current();
  const Array<TypeParam> gradient({1, 2}), sum({0});
  UpdateBatch<TypeParam> batch;
  Scale(context, 2, TypeParam(3), gradient.data());
  SumSquares(context, 2, gradient.data(), sum.data());
  EXPECT_EQ(sum.values(), (std::vector<TypeParam>{45}));
}

TYPED_TEST(UpdateBatches, RunBeforeABlobIsRead) {
  const DeviceContext context = DeviceContext::Current();
  Blob<TypeParam> blob({2});
  blob.mutable_cpu_data()[0] = blob.mutable_cpu_data()[1] = 8;
  blob.mutable_cpu_diff()[0] = blob.mutable_cpu_diff()[1] = 3;
  UpdateBatch<TypeParam> batch;
  Scale(context, 2, TypeParam(2), MutableDiff(context, &blob));
  blob.Update();
  EXPECT_EQ(blob.cpu_data()[1], 2);
  EXPECT_EQ(blob.cpu_diff()[1], 6);
}

TYPED_TEST(UpdateBatches, KeepTheOrderOfStepsOnTheSameArrays) {
  const DeviceContext context = DeviceContext::Current();
  const Array<TypeParam> gradient({1, 1}), other({10, 10}), first({0, 0}), second({4, 4});
  UpdateBatch<TypeParam> batch;
  SgdUpdate(context, 2, TypeParam(2), TypeParam(1), gradient.data(), first.data());   // 2
  SgdUpdate(context, 2, TypeParam(1), TypeParam(1), gradient.data(), second.data());  // 6
  Scale(context, 2, TypeParam(5), other.data());                                      // 50
  AddDecayL2(context, 2, TypeParam(1), other.data(), gradient.data());                // 56
  AddDecayL2(context, 2, TypeParam(1), gradient.data(), other.data());                // 106
  batch.Finish();
  EXPECT_EQ(first.values(), (std::vector<TypeParam>{2, 2}));
  EXPECT_EQ(second.values(), (std::vector<TypeParam>{6, 6}));
  EXPECT_EQ(gradient.values(), (std::vector<TypeParam>{56, 56}));
  EXPECT_EQ(other.values(), (std::vector<TypeParam>{106, 106}));
  SubtractStep(context, 2, first.data(), other.data());                 // 104
  Scale(context, 2, TypeParam(2), gradient.data());                     // 112
  AddDecayL2(context, 2, TypeParam(1), other.data(), gradient.data());  // 216
  batch.Finish();
  EXPECT_EQ(gradient.values(), (std::vector<TypeParam>{216, 216}));
}

}  // namespace
}  // namespace kernels
}  // namespace caffe
