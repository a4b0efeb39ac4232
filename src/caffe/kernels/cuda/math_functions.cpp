// caffe_gpu_*: products and sums by cuBLAS, random numbers by cuRAND, the rest by ParallelFor.
#include "caffe/util/math_functions.hpp"

#include <algorithm>
#include <cmath>

#include "caffe/kernels/on_device.hpp"
#include "caffe/kernels/parallel.hpp"
#include "layrub/device/cuda/curand_library.hpp"

namespace caffe {
namespace {

using kernels::OnDevice;
using kernels::ParallelFor;
using layrub::RequireCurand;

// cuBLAS and cuRAND have one function name per type; these overloads let the templates below pick
// one. cuBLAS matrices are column-major, so it sees a row-major matrix as its transpose.
cublasOperation_t Operation(CBLAS_TRANSPOSE transpose) {
  return transpose == CblasNoTrans ? CUBLAS_OP_N : CUBLAS_OP_T;
}

void Gemm(cublasOperation_t tb, cublasOperation_t ta, int n, int m, int k, float alpha,
          const float* b, int ldb, const float* a, int lda, float beta, float* c) {
  CUBLAS_CHECK(
      cublasSgemm(Caffe::cublas_handle(), tb, ta, n, m, k, &alpha, b, ldb, a, lda, &beta, c, n));
}
void Gemm(cublasOperation_t tb, cublasOperation_t ta, int n, int m, int k, double alpha,
          const double* b, int ldb, const double* a, int lda, double beta, double* c) {
  CUBLAS_CHECK(
      cublasDgemm(Caffe::cublas_handle(), tb, ta, n, m, k, &alpha, b, ldb, a, lda, &beta, c, n));
}
void Gemv(cublasOperation_t t, int n, int m, float alpha, const float* a, const float* x,
          float beta, float* y) {
  CUBLAS_CHECK(cublasSgemv(Caffe::cublas_handle(), t, n, m, &alpha, a, n, x, 1, &beta, y, 1));
}
void Gemv(cublasOperation_t t, int n, int m, double alpha, const double* a, const double* x,
          double beta, double* y) {
  CUBLAS_CHECK(cublasDgemv(Caffe::cublas_handle(), t, n, m, &alpha, a, n, x, 1, &beta, y, 1));
}
void Axpy(int n, float alpha, const float* x, float* y) {
  CUBLAS_CHECK(cublasSaxpy(Caffe::cublas_handle(), n, &alpha, x, 1, y, 1));
}
void Axpy(int n, double alpha, const double* x, double* y) {
  CUBLAS_CHECK(cublasDaxpy(Caffe::cublas_handle(), n, &alpha, x, 1, y, 1));
}
void Scal(int n, float alpha, float* x) {
  CUBLAS_CHECK(cublasSscal(Caffe::cublas_handle(), n, &alpha, x, 1));
}
void Scal(int n, double alpha, double* x) {
  CUBLAS_CHECK(cublasDscal(Caffe::cublas_handle(), n, &alpha, x, 1));
}
void Dot(int n, const float* x, const float* y, float* out) {
  CUBLAS_CHECK(cublasSdot(Caffe::cublas_handle(), n, x, 1, y, 1, out));
}
void Dot(int n, const double* x, const double* y, double* out) {
  CUBLAS_CHECK(cublasDdot(Caffe::cublas_handle(), n, x, 1, y, 1, out));
}
void Asum(int n, const float* x, float* sum) {
  CUBLAS_CHECK(cublasSasum(Caffe::cublas_handle(), n, x, 1, sum));
}
void Asum(int n, const double* x, double* sum) {
  CUBLAS_CHECK(cublasDasum(Caffe::cublas_handle(), n, x, 1, sum));
}
/// Uniform on (0, 1].
void Uniform(int n, float* r) {
  CURAND_CHECK(RequireCurand().GenerateUniform(Caffe::curand_generator(), r, n));
}
void Uniform(int n, double* r) {
  CURAND_CHECK(RequireCurand().GenerateUniformDouble(Caffe::curand_generator(), r, n));
}
/// `n` must be even.
void Normal(int n, float mu, float sigma, float* r) {
  CURAND_CHECK(RequireCurand().GenerateNormal(Caffe::curand_generator(), r, n, mu, sigma));
}
void Normal(int n, double mu, double sigma, double* r) {
  CURAND_CHECK(RequireCurand().GenerateNormalDouble(Caffe::curand_generator(), r, n, mu, sigma));
}

}  // namespace

template <typename Dtype>
void caffe_gpu_gemm(const CBLAS_TRANSPOSE TransA, const CBLAS_TRANSPOSE TransB, const int M,
                    const int N, const int K, const Dtype alpha, const Dtype* A, const Dtype* B,
                    const Dtype beta, Dtype* C) {
  const int row = std::max(K, 1);  // cuBLAS does not accept 0
  Gemm(Operation(TransB), Operation(TransA), N, M, K, alpha, B, TransB == CblasNoTrans ? N : row, A,
       TransA == CblasNoTrans ? row : M, beta, C);
}

template <typename Dtype>
void caffe_gpu_gemv(const CBLAS_TRANSPOSE TransA, const int M, const int N, const Dtype alpha,
                    const Dtype* A, const Dtype* x, const Dtype beta, Dtype* y) {
  Gemv(TransA == CblasNoTrans ? CUBLAS_OP_T : CUBLAS_OP_N, N, M, alpha, A, x, beta, y);
}

template <typename Dtype>
void caffe_gpu_axpy(const int N, const Dtype alpha, const Dtype* X, Dtype* Y) {
  Axpy(N, alpha, X, Y);
}

template <typename Dtype>
void caffe_gpu_scal(const int N, const Dtype alpha, Dtype* X) {
  Scal(N, alpha, X);
}

template <typename Dtype>
void caffe_gpu_scal(const int N, const Dtype alpha, Dtype* X, cudaStream_t str) {
  cudaStream_t before;
  CUBLAS_CHECK(cublasGetStream(Caffe::cublas_handle(), &before));
  CUBLAS_CHECK(cublasSetStream(Caffe::cublas_handle(), str));
  Scal(N, alpha, X);
  CUBLAS_CHECK(cublasSetStream(Caffe::cublas_handle(), before));
}

template <typename Dtype>
void caffe_gpu_dot(const int n, const Dtype* x, const Dtype* y, Dtype* out) {
  Dot(n, x, y, out);
}

template <typename Dtype>
void caffe_gpu_asum(const int n, const Dtype* x, Dtype* y) {
  Asum(n, x, y);
}

void caffe_gpu_memcpy(const size_t N, const void* X, void* Y) {
  Caffe::device().Copy(Y, X, static_cast<int64_t>(N));
}

// The elementwise functions: y[i] = expression, with value = a[i].
#define DEFINE_UNARY(name, expression)                             \
  template <typename Dtype>                                        \
  void caffe_gpu_##name(const int n, const Dtype* a, Dtype* y) {   \
    ParallelFor(OnDevice(), n, [=] LAYRUB_HOST_DEVICE(int64_t i) { \
      const Dtype value = a[i];                                    \
      y[i] = expression;                                           \
    });                                                            \
  }
#define DEFINE_BINARY(name, operation)                                                             \
  template <typename Dtype>                                                                        \
  void caffe_gpu_##name(const int N, const Dtype* a, const Dtype* b, Dtype* y) {                   \
    ParallelFor(OnDevice(), N, [=] LAYRUB_HOST_DEVICE(int64_t i) { y[i] = a[i] operation b[i]; }); \
  }

DEFINE_UNARY(abs, value < 0 ? -value : value)
DEFINE_UNARY(fabs, value < 0 ? -value : value)
DEFINE_UNARY(exp, std::exp(value))
DEFINE_UNARY(log, std::log(value))
DEFINE_UNARY(sqrt, std::sqrt(value))
DEFINE_UNARY(sign, Dtype((Dtype(0) < value) - (value < Dtype(0))))
DEFINE_UNARY(sgnbit, Dtype(std::signbit(value)))
DEFINE_BINARY(add, +)
DEFINE_BINARY(sub, -)
DEFINE_BINARY(mul, *)
DEFINE_BINARY(div, /)

template <typename Dtype>
void caffe_gpu_axpby(const int N, const Dtype alpha, const Dtype* X, const Dtype beta, Dtype* Y) {
  ParallelFor(OnDevice(), N,
              [=] LAYRUB_HOST_DEVICE(int64_t i) { Y[i] = alpha * X[i] + beta * Y[i]; });
}

template <typename Dtype>
void caffe_gpu_set(const int N, const Dtype alpha, Dtype* X) {
  ParallelFor(OnDevice(), N, [=] LAYRUB_HOST_DEVICE(int64_t i) { X[i] = alpha; });
}

template <typename Dtype>
void caffe_gpu_add_scalar(const int N, const Dtype alpha, Dtype* X) {
  ParallelFor(OnDevice(), N, [=] LAYRUB_HOST_DEVICE(int64_t i) { X[i] += alpha; });
}

template <typename Dtype>
void caffe_gpu_scale(const int n, const Dtype alpha, const Dtype* x, Dtype* y) {
  ParallelFor(OnDevice(), n, [=] LAYRUB_HOST_DEVICE(int64_t i) { y[i] = alpha * x[i]; });
}

template <typename Dtype>
void caffe_gpu_powx(const int n, const Dtype* a, const Dtype b, Dtype* y) {
  ParallelFor(OnDevice(), n, [=] LAYRUB_HOST_DEVICE(int64_t i) { y[i] = std::pow(a[i], b); });
}

void caffe_gpu_rng_uniform(const int n, unsigned int* r) {
  CURAND_CHECK(RequireCurand().Generate(Caffe::curand_generator(), r, n));
}

template <typename Dtype>
void caffe_gpu_rng_uniform(const int n, const Dtype a, const Dtype b, Dtype* r) {
  CHECK_LE(a, b);
  Uniform(n, r);
  const Dtype range = b - a;
  ParallelFor(OnDevice(), n, [=] LAYRUB_HOST_DEVICE(int64_t i) { r[i] = a + range * r[i]; });
}

template <typename Dtype>
void caffe_gpu_rng_gaussian(const int n, const Dtype mu, const Dtype sigma, Dtype* r) {
  CHECK_GT(sigma, 0);
  const int even = n - n % 2;
  if (even > 0) Normal(even, mu, sigma, r);
  if (even == n) return;
  // cuRAND draws normal numbers in pairs, so an odd last number is the first of an extra pair.
  layrub::Pool& pool = Caffe::device().pool();
  auto* const pair = static_cast<Dtype*>(pool.Allocate(2 * sizeof(Dtype)));
  CHECK(pair) << "Out of memory on the device.";
  Normal(2, mu, sigma, pair);
  Caffe::device().Copy(r + even, pair, sizeof(Dtype));
  pool.Free(pair);  // safe: its next user writes to it after the copy
}

template <typename Dtype>
void caffe_gpu_rng_bernoulli(const int n, const Dtype p, int* r) {
  CHECK_GE(p, 0);
  CHECK_LE(p, 1);
  auto* const bits = reinterpret_cast<unsigned int*>(r);
  caffe_gpu_rng_uniform(n, bits);
  const double limit = static_cast<double>(p) * 4294967296.0;
  ParallelFor(OnDevice(), n, [=] LAYRUB_HOST_DEVICE(int64_t i) { r[i] = bits[i] < limit; });
}

#define INSTANTIATE(Dtype)                                                                    \
  template void caffe_gpu_gemm<Dtype>(CBLAS_TRANSPOSE, CBLAS_TRANSPOSE, int, int, int, Dtype, \
                                      const Dtype*, const Dtype*, Dtype, Dtype*);             \
  template void caffe_gpu_gemv<Dtype>(CBLAS_TRANSPOSE, int, int, Dtype, const Dtype*,         \
                                      const Dtype*, Dtype, Dtype*);                           \
  template void caffe_gpu_axpy<Dtype>(int, Dtype, const Dtype*, Dtype*);                      \
  template void caffe_gpu_axpby<Dtype>(int, Dtype, const Dtype*, Dtype, Dtype*);              \
  template void caffe_gpu_scal<Dtype>(int, Dtype, Dtype*);                                    \
  template void caffe_gpu_scal<Dtype>(int, Dtype, Dtype*, cudaStream_t);                      \
  template void caffe_gpu_dot<Dtype>(int, const Dtype*, const Dtype*, Dtype*);                \
  template void caffe_gpu_asum<Dtype>(int, const Dtype*, Dtype*);                             \
  template void caffe_gpu_set<Dtype>(int, Dtype, Dtype*);                                     \
  template void caffe_gpu_add_scalar<Dtype>(int, Dtype, Dtype*);                              \
  template void caffe_gpu_scale<Dtype>(int, Dtype, const Dtype*, Dtype*);                     \
  template void caffe_gpu_add<Dtype>(int, const Dtype*, const Dtype*, Dtype*);                \
  template void caffe_gpu_sub<Dtype>(int, const Dtype*, const Dtype*, Dtype*);                \
  template void caffe_gpu_mul<Dtype>(int, const Dtype*, const Dtype*, Dtype*);                \
  template void caffe_gpu_div<Dtype>(int, const Dtype*, const Dtype*, Dtype*);                \
  template void caffe_gpu_abs<Dtype>(int, const Dtype*, Dtype*);                              \
  template void caffe_gpu_fabs<Dtype>(int, const Dtype*, Dtype*);                             \
  template void caffe_gpu_exp<Dtype>(int, const Dtype*, Dtype*);                              \
  template void caffe_gpu_log<Dtype>(int, const Dtype*, Dtype*);                              \
  template void caffe_gpu_sqrt<Dtype>(int, const Dtype*, Dtype*);                             \
  template void caffe_gpu_sign<Dtype>(int, const Dtype*, Dtype*);                             \
  template void caffe_gpu_sgnbit<Dtype>(int, const Dtype*, Dtype*);                           \
  template void caffe_gpu_powx<Dtype>(int, const Dtype*, Dtype, Dtype*);                      \
  template void caffe_gpu_rng_uniform<Dtype>(int, Dtype, Dtype, Dtype*);                      \
  template void caffe_gpu_rng_gaussian<Dtype>(int, Dtype, Dtype, Dtype*);                     \
  template void caffe_gpu_rng_bernoulli<Dtype>(int, Dtype, int*)

INSTANTIATE(float);
INSTANTIATE(double);
#undef INSTANTIATE
template void caffe_gpu_set<int>(int, int, int*);

}  // namespace caffe
