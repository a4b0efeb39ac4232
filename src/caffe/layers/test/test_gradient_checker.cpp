// The gradient checker finds wrong gradients, also when it checks a few values only.
#include <gtest/gtest-spi.h>
#include <gtest/gtest.h>

#include <vector>

#include "caffe/test/test_gradient_check_util.hpp"
#include "layrub/placement/test/tiers.hpp"

namespace caffe {
namespace {

/// Computes y = 2 x, and claims that the derivative is 3.
class WrongLayer : public Layer<double> {
 public:
  using Layer::Layer;
  void Reshape(const vector<Blob<double>*>& bottom, const vector<Blob<double>*>& top) override {
    top[0]->ReshapeLike(*bottom[0]);
  }
  const char* type() const override { return "Wrong"; }

 protected:
  void Forward_cpu(const vector<Blob<double>*>& bottom, const vector<Blob<double>*>& top) override {
    Multiply(bottom[0]->count(), 2, bottom[0]->cpu_data(), top[0]->mutable_cpu_data());
  }
  void Backward_cpu(const vector<Blob<double>*>& top, const vector<bool>&,
                    const vector<Blob<double>*>& bottom) override {
    Multiply(top[0]->count(), 3, top[0]->cpu_diff(), bottom[0]->mutable_cpu_diff());
  }

 private:
  static void Multiply(int n, double factor, const double* x, double* y) {
    for (int i = 0; i < n; ++i) y[i] = factor * x[i];
  }
};

TEST(GradientChecker, FindsAWrongGradientOfEachCheckedValue) {
  const bool some = layrub::testing::Sampled() && Caffe::mode() == Caffe::GPU;
  WrongLayer layer{LayerParameter()};
  Blob<double> bottom({60}), top;
  for (int i = 0; i < bottom.count(); ++i) bottom.mutable_cpu_data()[i] = i;
  ::testing::TestPartResultArray failures;
  {
    const ::testing::ScopedFakeTestPartResultReporter reporter(
        ::testing::ScopedFakeTestPartResultReporter::INTERCEPT_ONLY_CURRENT_THREAD, &failures);
    GradientChecker<double>(1e-4, 1e-6).CheckGradientExhaustive(&layer, {&bottom}, {&top});
  }
  EXPECT_EQ(failures.size(), some ? 6 : 60);
}

}  // namespace
}  // namespace caffe
