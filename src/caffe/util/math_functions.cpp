#include "caffe/util/math_functions.hpp"

#include <algorithm>
#include <boost/random/bernoulli_distribution.hpp>
#include <boost/random/normal_distribution.hpp>
#include <boost/random/uniform_real.hpp>
#include <boost/random/variate_generator.hpp>
#include <limits>

#include "caffe/core/mode_device.hpp"
#include "caffe/util/blas_memory.hpp"
#include "caffe/util/cpu_gemm.hpp"
#include "caffe/util/rng.hpp"
#include "layrub/device/device.hpp"

namespace caffe {

namespace {

// BLAS and MKL have one function name per type; these overloads let the templates below pick one.
void Gemv(CBLAS_TRANSPOSE ta, int m, int n, float alpha, const float* a, const float* x, float beta,
          float* y) {
  CheckRoomForBlas();
  cblas_sgemv(CblasRowMajor, ta, m, n, alpha, a, n, x, 1, beta, y, 1);
}
void Gemv(CBLAS_TRANSPOSE ta, int m, int n, double alpha, const double* a, const double* x,
          double beta, double* y) {
  CheckRoomForBlas();
  cblas_dgemv(CblasRowMajor, ta, m, n, alpha, a, n, x, 1, beta, y, 1);
}
void Axpy(int n, float alpha, const float* x, float* y) { cblas_saxpy(n, alpha, x, 1, y, 1); }
void Axpy(int n, double alpha, const double* x, double* y) { cblas_daxpy(n, alpha, x, 1, y, 1); }
void Axpby(int n, float alpha, const float* x, float beta, float* y) {
  cblas_saxpby(n, alpha, x, 1, beta, y, 1);
}
void Axpby(int n, double alpha, const double* x, double beta, double* y) {
  cblas_daxpby(n, alpha, x, 1, beta, y, 1);
}
void Scal(int n, float alpha, float* x) { cblas_sscal(n, alpha, x, 1); }
void Scal(int n, double alpha, double* x) { cblas_dscal(n, alpha, x, 1); }
float Dot(int n, const float* x, int incx, const float* y, int incy) {
  return cblas_sdot(n, x, incx, y, incy);
}
double Dot(int n, const double* x, int incx, const double* y, int incy) {
  return cblas_ddot(n, x, incx, y, incy);
}
float Asum(int n, const float* x) { return cblas_sasum(n, x, 1); }
double Asum(int n, const double* x) { return cblas_dasum(n, x, 1); }

}  // namespace

template <typename Dtype>
void caffe_cpu_gemm(const CBLAS_TRANSPOSE TransA, const CBLAS_TRANSPOSE TransB, const int M,
                    const int N, const int K, const Dtype alpha, const Dtype* A, const Dtype* B,
                    const Dtype beta, Dtype* C) {
  CpuGemm(1, 0, 0, 0, TransA, TransB, M, N, K, alpha, A, B, beta, C);
}

template <typename Dtype>
void caffe_cpu_gemv(const CBLAS_TRANSPOSE TransA, const int M, const int N, const Dtype alpha,
                    const Dtype* A, const Dtype* x, const Dtype beta, Dtype* y) {
  Gemv(TransA, M, N, alpha, A, x, beta, y);
}

template <typename Dtype>
void caffe_axpy(const int N, const Dtype alpha, const Dtype* X, Dtype* Y) {
  Axpy(N, alpha, X, Y);
}

template <typename Dtype>
void caffe_cpu_axpby(const int N, const Dtype alpha, const Dtype* X, const Dtype beta, Dtype* Y) {
  Axpby(N, alpha, X, beta, Y);
}

template <typename Dtype>
void caffe_copy(const int N, const Dtype* X, Dtype* Y) {
  if (X == Y || N == 0) return;
  const size_t bytes = sizeof(Dtype) * static_cast<size_t>(N);
  if (layrub::Device* const device = ModeDevice()) {
    device->Copy(Y, X, static_cast<int64_t>(bytes));
  } else {
    memcpy(Y, X, bytes);
  }
}

template <typename Dtype>
void caffe_set(const int N, const Dtype alpha, Dtype* X) {
  std::fill_n(X, N, alpha);
}

template <typename Dtype>
void caffe_add_scalar(const int N, const Dtype alpha, Dtype* X) {
  for (int i = 0; i < N; ++i) X[i] += alpha;
}

template <typename Dtype>
void caffe_scal(const int N, const Dtype alpha, Dtype* X) {
  Scal(N, alpha, X);
}

template <typename Dtype>
void caffe_cpu_scale(const int n, const Dtype alpha, const Dtype* x, Dtype* y) {
  for (int i = 0; i < n; ++i) y[i] = alpha * x[i];
}

template <typename Dtype>
Dtype caffe_cpu_strided_dot(const int n, const Dtype* x, const int incx, const Dtype* y,
                            const int incy) {
  return Dot(n, x, incx, y, incy);
}

template <typename Dtype>
Dtype caffe_cpu_dot(const int n, const Dtype* x, const Dtype* y) {
  return Dot(n, x, 1, y, 1);
}

template <typename Dtype>
Dtype caffe_cpu_asum(const int n, const Dtype* x) {
  return Asum(n, x);
}

unsigned int caffe_rng_rand() { return (*caffe_rng())(); }

template <typename Dtype>
Dtype caffe_nextafter(const Dtype b) {
  return std::nextafter(b, std::numeric_limits<Dtype>::max());
}

namespace {

// r[i] = the i-th draw of `distribution` from the thread's stream.
template <typename Distribution, typename Result>
void Draw(const int n, const Distribution& distribution, Result* r) {
  CHECK_GE(n, 0);
  CHECK(n == 0 || r);
  boost::variate_generator<rng_t*, Distribution> next(caffe_rng(), distribution);
  for (int i = 0; i < n; ++i) r[i] = next();
}

}  // namespace

template <typename Dtype>
void caffe_rng_uniform(const int n, const Dtype a, const Dtype b, Dtype* r) {
  CHECK_LE(a, b);
  Draw(n, boost::uniform_real<Dtype>(a, caffe_nextafter<Dtype>(b)), r);
}

template <typename Dtype>
void caffe_rng_gaussian(const int n, const Dtype mu, const Dtype sigma, Dtype* r) {
  CHECK_GT(sigma, 0);
  Draw(n, boost::normal_distribution<Dtype>(mu, sigma), r);
}

template <typename Dtype>
void caffe_rng_bernoulli(const int n, const Dtype p, int* r) {
  CHECK_GE(p, 0);
  CHECK_LE(p, 1);
  Draw(n, boost::bernoulli_distribution<Dtype>(p), r);
}

template <typename Dtype>
void caffe_rng_bernoulli(const int n, const Dtype p, unsigned int* r) {
  caffe_rng_bernoulli(n, p, reinterpret_cast<int*>(r));
}

// Elementwise functions, by MKL or by the loops of mkl_alternate.hpp.
#define DEFINE_UNARY(caffe_name, vsl_name)                           \
  template <>                                                        \
  void caffe_name<float>(const int n, const float* a, float* y) {    \
    vs##vsl_name(n, a, y);                                           \
  }                                                                  \
  template <>                                                        \
  void caffe_name<double>(const int n, const double* a, double* y) { \
    vd##vsl_name(n, a, y);                                           \
  }

#define DEFINE_BINARY(caffe_name, vsl_name)                                           \
  template <>                                                                         \
  void caffe_name<float>(const int n, const float* a, const float* b, float* y) {     \
    vs##vsl_name(n, a, b, y);                                                         \
  }                                                                                   \
  template <>                                                                         \
  void caffe_name<double>(const int n, const double* a, const double* b, double* y) { \
    vd##vsl_name(n, a, b, y);                                                         \
  }

DEFINE_UNARY(caffe_sqr, Sqr)
DEFINE_UNARY(caffe_sqrt, Sqrt)
DEFINE_UNARY(caffe_exp, Exp)
DEFINE_UNARY(caffe_log, Ln)
DEFINE_UNARY(caffe_abs, Abs)
DEFINE_BINARY(caffe_add, Add)
DEFINE_BINARY(caffe_sub, Sub)
DEFINE_BINARY(caffe_mul, Mul)
DEFINE_BINARY(caffe_div, Div)

template <>
void caffe_powx<float>(const int n, const float* a, const float b, float* y) {
  vsPowx(n, a, b, y);
}
template <>
void caffe_powx<double>(const int n, const double* a, const double b, double* y) {
  vdPowx(n, a, b, y);
}

#define INSTANTIATE(Dtype)                                                                    \
  template void caffe_cpu_gemm<Dtype>(CBLAS_TRANSPOSE, CBLAS_TRANSPOSE, int, int, int, Dtype, \
                                      const Dtype*, const Dtype*, Dtype, Dtype*);             \
  template void caffe_cpu_gemv<Dtype>(CBLAS_TRANSPOSE, int, int, Dtype, const Dtype*,         \
                                      const Dtype*, Dtype, Dtype*);                           \
  template void caffe_axpy<Dtype>(int, Dtype, const Dtype*, Dtype*);                          \
  template void caffe_cpu_axpby<Dtype>(int, Dtype, const Dtype*, Dtype, Dtype*);              \
  template void caffe_add_scalar<Dtype>(int, Dtype, Dtype*);                                  \
  template void caffe_scal<Dtype>(int, Dtype, Dtype*);                                        \
  template void caffe_cpu_scale<Dtype>(int, Dtype, const Dtype*, Dtype*);                     \
  template Dtype caffe_cpu_strided_dot<Dtype>(int, const Dtype*, int, const Dtype*, int);     \
  template Dtype caffe_cpu_dot<Dtype>(int, const Dtype*, const Dtype*);                       \
  template Dtype caffe_cpu_asum<Dtype>(int, const Dtype*);                                    \
  template Dtype caffe_nextafter<Dtype>(Dtype);                                               \
  template void caffe_rng_uniform<Dtype>(int, Dtype, Dtype, Dtype*);                          \
  template void caffe_rng_gaussian<Dtype>(int, Dtype, Dtype, Dtype*);                         \
  template void caffe_rng_bernoulli<Dtype>(int, Dtype, int*);                                 \
  template void caffe_rng_bernoulli<Dtype>(int, Dtype, unsigned int*)

INSTANTIATE(float);
INSTANTIATE(double);

template void caffe_copy<int>(int, const int*, int*);
template void caffe_copy<unsigned int>(int, const unsigned int*, unsigned int*);
template void caffe_copy<float>(int, const float*, float*);
template void caffe_copy<double>(int, const double*, double*);
template void caffe_set<int>(int, int, int*);
template void caffe_set<float>(int, float, float*);
template void caffe_set<double>(int, double, double*);

}  // namespace caffe
