#include "caffe/util/math_functions.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <boost/random/normal_distribution.hpp>
#include <cmath>
#include <random>
#include <vector>

#include "caffe/test/expect_error.hpp"
#include "caffe/util/rng.hpp"

namespace caffe {
namespace {

template <typename Dtype>
class MathFunctions : public ::testing::Test {
 protected:
  MathFunctions() { Caffe::set_random_seed(1701); }

  static std::vector<Dtype> Gaussian(int n) {
    std::vector<Dtype> values(n);
    caffe_rng_gaussian<Dtype>(n, 0, 1, values.data());
    return values;
  }
};

typedef ::testing::Types<float, double> Dtypes;
TYPED_TEST_SUITE(MathFunctions, Dtypes);

TYPED_TEST(MathFunctions, GemmMultipliesEveryTransposition) {
  const int m = 3, n = 4, k = 5;
  const std::vector<TypeParam> a = this->Gaussian(m * k), b = this->Gaussian(k * n),
                               c = this->Gaussian(m * n);
  for (const CBLAS_TRANSPOSE ta : {CblasNoTrans, CblasTrans}) {
    for (const CBLAS_TRANSPOSE tb : {CblasNoTrans, CblasTrans}) {
      std::vector<TypeParam> actual = c;
      caffe_cpu_gemm<TypeParam>(ta, tb, m, n, k, 2, a.data(), b.data(), 0.5, actual.data());
      for (int i = 0; i < m; ++i) {
        for (int j = 0; j < n; ++j) {
          double sum = 0;
          for (int l = 0; l < k; ++l) {
            sum += double(a[ta == CblasNoTrans ? i * k + l : l * m + i]) *
                   double(b[tb == CblasNoTrans ? l * n + j : j * k + l]);
          }
          EXPECT_NEAR(actual[i * n + j], 2 * sum + 0.5 * c[i * n + j], 1e-5);
        }
      }
    }
  }
}

TYPED_TEST(MathFunctions, GemvMultipliesMatrixAndTranspose) {
  const std::vector<TypeParam> a = {1, 2, 3, 4, 5, 6};
  std::vector<TypeParam> y2 = {1, 1}, y3 = {1, 1, 1};
  const std::vector<TypeParam> x3 = {1, 0, -1}, x2 = {1, 2};
  caffe_cpu_gemv<TypeParam>(CblasNoTrans, 2, 3, 1, a.data(), x3.data(), 10, y2.data());
  caffe_cpu_gemv<TypeParam>(CblasTrans, 2, 3, 1, a.data(), x2.data(), 0, y3.data());
  EXPECT_EQ(y2, (std::vector<TypeParam>{8, 8}));
  EXPECT_EQ(y3, (std::vector<TypeParam>{9, 12, 15}));
}

TYPED_TEST(MathFunctions, VectorUpdates) {
  const std::vector<TypeParam> x = {1, -2, 3};
  std::vector<TypeParam> y = {1, 1, 1};
  caffe_axpy<TypeParam>(3, 2, x.data(), y.data());
  EXPECT_EQ(y, (std::vector<TypeParam>{3, -3, 7}));
  caffe_cpu_axpby<TypeParam>(3, 1, x.data(), 2, y.data());
  EXPECT_EQ(y, (std::vector<TypeParam>{7, -8, 17}));
  caffe_scal<TypeParam>(3, 2, y.data());
  caffe_add_scalar<TypeParam>(3, 1, y.data());
  EXPECT_EQ(y, (std::vector<TypeParam>{15, -15, 35}));
  caffe_cpu_scale<TypeParam>(3, -1, x.data(), y.data());
  EXPECT_EQ(y, (std::vector<TypeParam>{-1, 2, -3}));
  caffe_set<TypeParam>(2, 5, y.data());
  EXPECT_EQ(y, (std::vector<TypeParam>{5, 5, -3}));
  caffe_copy<TypeParam>(3, x.data(), y.data());
  EXPECT_EQ(y, x);
}

TYPED_TEST(MathFunctions, ElementwiseFunctionsWorkInPlace) {
  const std::vector<TypeParam> a = {1, 4, 9}, b = {2, 2, 3};
  const auto apply = [&a](auto function) {
    std::vector<TypeParam> y = a;
    function(y.data());
    return y;
  };
  typedef std::vector<TypeParam> Values;
  EXPECT_EQ(apply([](TypeParam* y) { caffe_sqr<TypeParam>(3, y, y); }), (Values{1, 16, 81}));
  EXPECT_EQ(apply([](TypeParam* y) { caffe_sqrt<TypeParam>(3, y, y); }), (Values{1, 2, 3}));
  EXPECT_EQ(apply([&](TypeParam* y) { caffe_add<TypeParam>(3, y, b.data(), y); }),
            (Values{3, 6, 12}));
  EXPECT_EQ(apply([&](TypeParam* y) { caffe_sub<TypeParam>(3, y, b.data(), y); }),
            (Values{-1, 2, 6}));
  EXPECT_EQ(apply([&](TypeParam* y) { caffe_mul<TypeParam>(3, y, b.data(), y); }),
            (Values{2, 8, 27}));
  EXPECT_EQ(apply([&](TypeParam* y) { caffe_div<TypeParam>(3, y, b.data(), y); }),
            (Values{0.5, 2, 3}));
  EXPECT_EQ(apply([](TypeParam* y) { caffe_powx<TypeParam>(3, y, 2, y); }), (Values{1, 16, 81}));
  for (int i = 0; i < 3; ++i) {
    EXPECT_FLOAT_EQ(apply([](TypeParam* y) { caffe_exp<TypeParam>(3, y, y); })[i], std::exp(a[i]));
    EXPECT_FLOAT_EQ(apply([](TypeParam* y) { caffe_log<TypeParam>(3, y, y); })[i], std::log(a[i]));
  }
}

TYPED_TEST(MathFunctions, SignsAndAbsoluteValues) {
  const std::vector<TypeParam> x = {-2, 0, 3};
  std::vector<TypeParam> y(3);
  caffe_cpu_sign<TypeParam>(3, x.data(), y.data());
  EXPECT_EQ(y, (std::vector<TypeParam>{-1, 0, 1}));
  caffe_cpu_sgnbit<TypeParam>(3, x.data(), y.data());
  EXPECT_EQ(y, (std::vector<TypeParam>{1, 0, 0}));
  caffe_cpu_fabs<TypeParam>(3, x.data(), y.data());
  EXPECT_EQ(y, (std::vector<TypeParam>{2, 0, 3}));
  caffe_abs<TypeParam>(3, x.data(), y.data());
  EXPECT_EQ(y, (std::vector<TypeParam>{2, 0, 3}));
}

TYPED_TEST(MathFunctions, ReductionsSum) {
  const std::vector<TypeParam> x = {1, -2, 3, -4}, y = {1, 1, 2, 2};
  EXPECT_EQ(caffe_cpu_asum<TypeParam>(4, x.data()), 10);
  EXPECT_EQ(caffe_cpu_dot<TypeParam>(4, x.data(), y.data()), -3);
  EXPECT_EQ(caffe_cpu_strided_dot<TypeParam>(2, x.data(), 2, y.data() + 1, 2), 7);
}

TYPED_TEST(MathFunctions, EmptyArraysAreAllowed) {
  caffe_add<TypeParam>(0, nullptr, nullptr, nullptr);
  caffe_copy<TypeParam>(0, nullptr, nullptr);
  caffe_rng_uniform<TypeParam>(0, 0, 1, nullptr);
  EXPECT_EQ(caffe_cpu_asum<TypeParam>(0, nullptr), 0);
}

// A uniform number is one scaled draw of the Mersenne twister, as in Caffe, so seeds mean the same.
TYPED_TEST(MathFunctions, UniformIsOneScaledDrawPerNumber) {
  std::mt19937 twister(1701);
  std::vector<TypeParam> actual(100);
  caffe_rng_uniform<TypeParam>(100, -2, 3, actual.data());
  const TypeParam high = std::nextafter(TypeParam(3), TypeParam(4));
  for (const TypeParam value : actual) {
    const TypeParam expected =
        static_cast<TypeParam>(twister()) / TypeParam(4294967296) * (high + 2) - 2;
    EXPECT_EQ(value, expected);
  }
}

TYPED_TEST(MathFunctions, GaussianDrawsFromTheThreadsStream) {
  boost::mt19937 twister(1701);
  boost::normal_distribution<TypeParam> normal(1, 2);
  std::vector<TypeParam> actual(100);
  caffe_rng_gaussian<TypeParam>(100, 1, 2, actual.data());
  for (const TypeParam value : actual) EXPECT_EQ(value, normal(twister));
}

TYPED_TEST(MathFunctions, GaussianHasItsMeanAndDeviation) {
  const int n = 20000;
  std::vector<TypeParam> values(n);
  caffe_rng_gaussian<TypeParam>(n, 3, 2, values.data());
  double mean = 0, variance = 0;
  for (const TypeParam value : values) mean += value / n;
  for (const TypeParam value : values) variance += (value - mean) * (value - mean) / n;
  EXPECT_NEAR(mean, 3, 0.06);
  EXPECT_NEAR(std::sqrt(variance), 2, 0.06);
}

TYPED_TEST(MathFunctions, BernoulliHasItsShareOfOnes) {
  const int n = 20000;
  std::vector<int> values(n);
  caffe_rng_bernoulli<TypeParam>(n, 0.3, values.data());
  const auto ones = std::count(values.begin(), values.end(), 1);
  EXPECT_EQ(ones + std::count(values.begin(), values.end(), 0), n);
  EXPECT_NEAR(double(ones) / n, 0.3, 0.015);
}

TYPED_TEST(MathFunctions, EqualSeedsGiveEqualNumbers) {
  const std::vector<TypeParam> first = this->Gaussian(50);
  EXPECT_NE(this->Gaussian(50), first);
  Caffe::set_random_seed(1701);
  EXPECT_EQ(this->Gaussian(50), first);
}

TEST(MathFunctionsErrors, ImpossibleDistributionsAbort) {
  float value;
  EXPECT_ERROR(caffe_rng_uniform<float>(1, 2, 1, &value), "Check failed");
  EXPECT_ERROR(caffe_rng_gaussian<float>(1, 0, -1, &value), "Check failed");
  int bit;
  EXPECT_ERROR(caffe_rng_bernoulli<float>(1, 1.5, &bit), "Check failed");
}

TEST(Shuffle, IsAPermutationThatTheSeedFixes) {
  std::vector<int> first(100), second(100);
  for (int i = 0; i < 100; ++i) first[i] = second[i] = i;
  Caffe::set_random_seed(3);
  shuffle(first.begin(), first.end());
  rng_t generator(3);
  shuffle(second.begin(), second.end(), &generator);
  EXPECT_EQ(first, second);
  EXPECT_FALSE(std::is_sorted(first.begin(), first.end()));
  std::sort(first.begin(), first.end());
  for (int i = 0; i < 100; ++i) EXPECT_EQ(first[i], i);
}

TEST(Shuffle, LeavesNothingToDoForEmptyRanges) {
  std::vector<int> empty;
  shuffle(empty.begin(), empty.end());
  EXPECT_TRUE(empty.empty());
}

TEST(MathFunctions, SetAndCopyIntegersToo) {
  std::vector<int> from(3), to(3);
  caffe_set(3, -7, from.data());
  caffe_copy(3, from.data(), to.data());
  EXPECT_EQ(to, std::vector<int>(3, -7));
  const std::vector<unsigned int> large(2, 4000000000u);
  std::vector<unsigned int> copy(2);
  caffe_copy(2, large.data(), copy.data());
  EXPECT_EQ(copy, large);
}

}  // namespace
}  // namespace caffe
