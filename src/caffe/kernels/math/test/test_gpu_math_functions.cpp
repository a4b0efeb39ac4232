// Caffe's math functions give the same results on arrays of a GPU as on arrays of the host.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <vector>

#include "caffe/kernels/test/user_kernels.hpp"
#include "caffe/test/body_memory.hpp"
#include "caffe/util/math_functions.hpp"

namespace caffe {
namespace {

#ifndef CPU_ONLY

template <typename Dtype>
class GpuMathFunctions : public ::testing::Test {
 protected:
  static constexpr int kCount = 1003;  // more than a block of threads, and not a multiple
  using Values = std::vector<Dtype>;

  void SetUp() override {
    if (!DeviceContext::Current().launch) GTEST_SKIP() << "There is no GPU here.";
  }
  /// Values in [0.5, 2.5), or with every other one below zero.
  static Values Make(int seed, bool negative = false) {
    Values values(kCount);
    for (int i = 0; i < kCount; ++i) {
      values[i] = Dtype(0.5) + Dtype((i * 37 + seed * 11) % 101) / 50;
      if (negative && i % 2) values[i] = -values[i];
    }
    return values;
  }

  using Function = std::function<void(const Dtype*, const Dtype*, Dtype*)>;
  /// Runs `gpu` on a, b and a result in GPU memory and `cpu` on the same in host memory, and
  /// compares the results.
  static void ExpectSame(const char* name, const Function& gpu, const Function& cpu,
                         bool negative = true, size_t results = kCount) {
    const Values a = Make(1, negative), b = Make(2, negative);
    Values expected(a.begin(), a.begin() + results);
    const size_t bytes = kCount * sizeof(Dtype);
    BodyMemory gpu_a(bytes), gpu_b(bytes), gpu_result(bytes);
    Put(a, gpu_a.address());
    Put(b, gpu_b.address());
    Put(expected, gpu_result.address());
    gpu(At(gpu_a), At(gpu_b), At(gpu_result));
    cpu(a.data(), b.data(), expected.data());
    const Values found = Get<Dtype>(gpu_result.address(), results);
    for (size_t i = 0; i < results; ++i) {
      const Dtype scale = std::max(Dtype(1), std::abs(expected[i]));
      ASSERT_NEAR(found[i], expected[i], 1e-5 * scale) << name << ", value " << i;
    }
  }
  static Dtype* At(const BodyMemory& memory) { return static_cast<Dtype*>(memory.address()); }
};

using Types = ::testing::Types<float, double>;
TYPED_TEST_SUITE(GpuMathFunctions, Types);

TYPED_TEST(GpuMathFunctions, AgreeWithTheHostElementwise) {
  using T = TypeParam;
  const int n = this->kCount;
  const auto same = [](const auto&... arguments) { GpuMathFunctions<T>::ExpectSame(arguments...); };
  const auto check = [&](const char* name, auto gpu, auto cpu, bool negative) {
    same(
        name, [=](const T* a, const T* b, T* y) { gpu(n, a, b, y); },
        [=](const T* a, const T* b, T* y) { cpu(n, a, b, y); }, negative);
  };
  check("add", caffe_gpu_add<T>, caffe_add<T>, true);
  check("sub", caffe_gpu_sub<T>, caffe_sub<T>, true);
  check("mul", caffe_gpu_mul<T>, caffe_mul<T>, true);
  check("div", caffe_gpu_div<T>, caffe_div<T>, true);
  const auto check_one = [&](const char* name, auto gpu, auto cpu, bool negative) {
    same(
        name, [=](const T* a, const T*, T* y) { gpu(n, a, y); },
        [=](const T* a, const T*, T* y) { cpu(n, a, y); }, negative);
  };
  check_one("abs", caffe_gpu_abs<T>, caffe_abs<T>, true);
  check_one("exp", caffe_gpu_exp<T>, caffe_exp<T>, true);
  check_one("log", caffe_gpu_log<T>, caffe_log<T>, false);
  check_one("sqrt", caffe_gpu_sqrt<T>, caffe_sqrt<T>, false);
  check_one("sign", caffe_gpu_sign<T>, caffe_cpu_sign<T>, true);
  check_one("sgnbit", caffe_gpu_sgnbit<T>, caffe_cpu_sgnbit<T>, true);
  check_one("fabs", caffe_gpu_fabs<T>, caffe_cpu_fabs<T>, true);
}

TYPED_TEST(GpuMathFunctions, AgreeWithTheHostWithAFactor) {
  using T = TypeParam;
  const int n = this->kCount;
  const auto same = [](const auto&... arguments) { GpuMathFunctions<T>::ExpectSame(arguments...); };
  same(
      "axpy", [=](const T* a, const T*, T* y) { caffe_gpu_axpy<T>(n, T(0.3), a, y); },
      [=](const T* a, const T*, T* y) { caffe_axpy<T>(n, T(0.3), a, y); });
  same(
      "axpby", [=](const T*, const T* b, T* y) { caffe_gpu_axpby<T>(n, T(0.3), b, T(-2), y); },
      [=](const T*, const T* b, T* y) { caffe_cpu_axpby<T>(n, T(0.3), b, T(-2), y); });
  same(
      "scal", [=](const T*, const T*, T* y) { caffe_gpu_scal<T>(n, T(0.3), y); },
      [=](const T*, const T*, T* y) { caffe_scal<T>(n, T(0.3), y); });
  same(
      "scale", [=](const T*, const T* b, T* y) { caffe_gpu_scale<T>(n, T(0.3), b, y); },
      [=](const T*, const T* b, T* y) { caffe_cpu_scale<T>(n, T(0.3), b, y); });
  same(
      "set", [=](const T*, const T*, T* y) { caffe_gpu_set<T>(n, T(0.3), y); },
      [=](const T*, const T*, T* y) { caffe_set<T>(n, T(0.3), y); });
  same(
      "add_scalar", [=](const T*, const T*, T* y) { caffe_gpu_add_scalar<T>(n, T(0.3), y); },
      [=](const T*, const T*, T* y) { caffe_add_scalar<T>(n, T(0.3), y); });
  same(
      "powx", [=](const T*, const T* b, T* y) { caffe_gpu_powx<T>(n, b, T(1.7), y); },
      [=](const T*, const T* b, T* y) { caffe_powx<T>(n, b, T(1.7), y); }, false);
}

TYPED_TEST(GpuMathFunctions, AgreeWithTheHostForMatrices) {
  using T = TypeParam;
  const int m = 17, n = 23, k = 31;
  for (const CBLAS_TRANSPOSE ta : {CblasNoTrans, CblasTrans}) {
    for (const CBLAS_TRANSPOSE tb : {CblasNoTrans, CblasTrans}) {
      this->ExpectSame(
          "gemm",
          [=](const T* a, const T* b, T* y) {
            caffe_gpu_gemm<T>(ta, tb, m, n, k, T(0.1), a, b, T(0.5), y);
          },
          [=](const T* a, const T* b, T* y) {
            caffe_cpu_gemm<T>(ta, tb, m, n, k, T(0.1), a, b, T(0.5), y);
          },
          true, m * n);
    }
    this->ExpectSame(
        "gemv",
        [=](const T* a, const T* b, T* y) { caffe_gpu_gemv<T>(ta, m, n, T(0.1), a, b, T(0.5), y); },
        [=](const T* a, const T* b, T* y) { caffe_cpu_gemv<T>(ta, m, n, T(0.1), a, b, T(0.5), y); },
        true, ta == CblasNoTrans ? m : n);
  }
}

TYPED_TEST(GpuMathFunctions, ReturnSumsToTheHost) {
  using T = TypeParam;
  const int n = this->kCount;
  const std::vector<T> a = this->Make(1, true), b = this->Make(2, true);
  BodyMemory gpu_a(n * sizeof(T)), gpu_b(n * sizeof(T));
  Put(a, gpu_a.address());
  Put(b, gpu_b.address());
  T dot = 0, sum = 0;
  caffe_gpu_dot<T>(n, this->At(gpu_a), this->At(gpu_b), &dot);
  caffe_gpu_asum<T>(n, this->At(gpu_a), &sum);
  EXPECT_NEAR(dot, caffe_cpu_dot<T>(n, a.data(), b.data()), 1e-2);
  EXPECT_NEAR(sum, caffe_cpu_asum<T>(n, a.data()), 1e-2);
}

TYPED_TEST(GpuMathFunctions, DrawRandomNumbersInTheirRange) {
  using T = TypeParam;
  const int n = 1000;
  BodyMemory memory(n * sizeof(T));
  Caffe::set_random_seed(1701);
  caffe_gpu_rng_uniform<T>(n, T(-1), T(3), this->At(memory));
  const std::vector<T> uniform = Get<T>(memory.address(), n);
  EXPECT_GE(*std::min_element(uniform.begin(), uniform.end()), T(-1));
  EXPECT_LE(*std::max_element(uniform.begin(), uniform.end()), T(3));
  EXPECT_NEAR(caffe_cpu_asum<T>(n, uniform.data()) / n, 1.25, 0.2);
  caffe_gpu_rng_gaussian<T>(n, T(5), T(0.1), this->At(memory));
  const std::vector<T> normal = Get<T>(memory.address(), n);
  EXPECT_NEAR(caffe_cpu_asum<T>(n, normal.data()) / n, 5, 0.05);
}

#ifndef LAYRUB_LAUNCH_ON_HOST  // such builds do not compile .cu files
TYPED_TEST(GpuMathFunctions, AddAtomicallyInUserKernels) {
  using T = TypeParam;
  std::vector<T> values(1000);
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<T>(i);
  BodyMemory gpu_values(values.size() * sizeof(T)), gpu_sums(2 * sizeof(T));
  Put(values, gpu_values.address());
  Put(std::vector<T>{1, 2}, gpu_sums.address());
  AddEach(1000, this->At(gpu_values), 2, this->At(gpu_sums));
  EXPECT_EQ(Get<T>(gpu_sums.address(), 2), (std::vector<T>{249501, 250002}));
}

using CublasHandle = GpuMathFunctions<float>;
TEST_F(CublasHandle, IsAvailableToUserFiles) {
  BodyMemory memory(3 * sizeof(float));
  Put(std::vector<float>{1, 2, 3}, memory.address());
  ScaleByCublas(3, 2, At(memory));
  EXPECT_EQ(Get<float>(memory.address(), 3), (std::vector<float>{2, 4, 6}));
}
#endif

#else

TEST(GpuMathFunctions, AreNotInThisBuild) {
  GTEST_SKIP() << "This build has no functions for arrays of a GPU.";
}

#endif  // CPU_ONLY

}  // namespace
}  // namespace caffe
