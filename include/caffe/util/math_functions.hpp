#ifndef CAFFE_UTIL_MATH_FUNCTIONS_H_
#define CAFFE_UTIL_MATH_FUNCTIONS_H_

// Vector and matrix arithmetic on raw pointers, for float and double. Arrays are contiguous,
// matrices row-major. Elementwise functions may write over an operand.

#include <stdint.h>

#include <cmath>
#include <cstring>

#include "caffe/common.hpp"
#include "caffe/util/device_alternate.hpp"
#include "caffe/util/mkl_alternate.hpp"

namespace caffe {

/// C = alpha * op(A) * op(B) + beta * C, where op(A) is M x K, op(B) is K x N and C is M x N.
template <typename Dtype>
void caffe_cpu_gemm(const CBLAS_TRANSPOSE TransA, const CBLAS_TRANSPOSE TransB, const int M,
                    const int N, const int K, const Dtype alpha, const Dtype* A, const Dtype* B,
                    const Dtype beta, Dtype* C);

/// y = alpha * op(A) * x + beta * y, where A is M x N.
template <typename Dtype>
void caffe_cpu_gemv(const CBLAS_TRANSPOSE TransA, const int M, const int N, const Dtype alpha,
                    const Dtype* A, const Dtype* x, const Dtype beta, Dtype* y);

/// Y += alpha * X
template <typename Dtype>
void caffe_axpy(const int N, const Dtype alpha, const Dtype* X, Dtype* Y);

/// Y = alpha * X + beta * Y
template <typename Dtype>
void caffe_cpu_axpby(const int N, const Dtype alpha, const Dtype* X, const Dtype beta, Dtype* Y);

/// Copies N elements, on the device in GPU mode. The ranges must be equal or disjoint.
template <typename Dtype>
void caffe_copy(const int N, const Dtype* X, Dtype* Y);

template <typename Dtype>
void caffe_set(const int N, const Dtype alpha, Dtype* X);

/// Sets N bytes.
inline void caffe_memset(const size_t N, const int alpha, void* X) { memset(X, alpha, N); }

template <typename Dtype>
void caffe_add_scalar(const int N, const Dtype alpha, Dtype* X);

template <typename Dtype>
void caffe_scal(const int N, const Dtype alpha, Dtype* X);

template <typename Dtype>
void caffe_sqr(const int N, const Dtype* a, Dtype* y);

template <typename Dtype>
void caffe_sqrt(const int N, const Dtype* a, Dtype* y);

template <typename Dtype>
void caffe_add(const int N, const Dtype* a, const Dtype* b, Dtype* y);

template <typename Dtype>
void caffe_sub(const int N, const Dtype* a, const Dtype* b, Dtype* y);

template <typename Dtype>
void caffe_mul(const int N, const Dtype* a, const Dtype* b, Dtype* y);

template <typename Dtype>
void caffe_div(const int N, const Dtype* a, const Dtype* b, Dtype* y);

template <typename Dtype>
void caffe_powx(const int n, const Dtype* a, const Dtype b, Dtype* y);

template <typename Dtype>
void caffe_exp(const int n, const Dtype* a, Dtype* y);

template <typename Dtype>
void caffe_log(const int n, const Dtype* a, Dtype* y);

template <typename Dtype>
void caffe_abs(const int n, const Dtype* a, Dtype* y);

template <typename Dtype>
Dtype caffe_cpu_dot(const int n, const Dtype* x, const Dtype* y);

template <typename Dtype>
Dtype caffe_cpu_strided_dot(const int n, const Dtype* x, const int incx, const Dtype* y,
                            const int incy);

/// Returns the sum of absolute values.
template <typename Dtype>
Dtype caffe_cpu_asum(const int n, const Dtype* x);

/// y = alpha * x
template <typename Dtype>
void caffe_cpu_scale(const int n, const Dtype alpha, const Dtype* x, Dtype* y);

// Random numbers come from the calling thread's stream (Caffe::rng_stream), one draw per element in
// order of index, so that a seed gives the same numbers as in Caffe.

unsigned int caffe_rng_rand();

/// Returns the next larger number of type Dtype.
template <typename Dtype>
Dtype caffe_nextafter(const Dtype b);

/// Uniform on [a, b].
template <typename Dtype>
void caffe_rng_uniform(const int n, const Dtype a, const Dtype b, Dtype* r);

template <typename Dtype>
void caffe_rng_gaussian(const int n, const Dtype mu, const Dtype sigma, Dtype* r);

/// 1 with probability p, else 0.
template <typename Dtype>
void caffe_rng_bernoulli(const int n, const Dtype p, int* r);

template <typename Dtype>
void caffe_rng_bernoulli(const int n, const Dtype p, unsigned int* r);

/// -1, 0 or 1.
template <typename Dtype>
inline int8_t caffe_sign(Dtype val) {
  return (Dtype(0) < val) - (val < Dtype(0));
}

/// Defines caffe_cpu_<name>(n, x, y) as a loop of `operation`, which reads x[i] and sets y[i].
#define DEFINE_CAFFE_CPU_UNARY_FUNC(name, operation)             \
  template <typename Dtype>                                      \
  void caffe_cpu_##name(const int n, const Dtype* x, Dtype* y) { \
    CHECK_GE(n, 0);                                              \
    CHECK(n == 0 || (x && y));                                   \
    for (int i = 0; i < n; ++i) {                                \
      operation;                                                 \
    }                                                            \
  }

DEFINE_CAFFE_CPU_UNARY_FUNC(sign, y[i] = caffe_sign<Dtype>(x[i]))
DEFINE_CAFFE_CPU_UNARY_FUNC(sgnbit, y[i] = std::signbit(x[i]))
DEFINE_CAFFE_CPU_UNARY_FUNC(fabs, y[i] = std::fabs(x[i]))

#ifndef CPU_ONLY
// The same on the device. Pointers are device pointers unless a comment says otherwise.

template <typename Dtype>
void caffe_gpu_gemm(const CBLAS_TRANSPOSE TransA, const CBLAS_TRANSPOSE TransB, const int M,
                    const int N, const int K, const Dtype alpha, const Dtype* A, const Dtype* B,
                    const Dtype beta, Dtype* C);

template <typename Dtype>
void caffe_gpu_gemv(const CBLAS_TRANSPOSE TransA, const int M, const int N, const Dtype alpha,
                    const Dtype* A, const Dtype* x, const Dtype beta, Dtype* y);

template <typename Dtype>
void caffe_gpu_axpy(const int N, const Dtype alpha, const Dtype* X, Dtype* Y);

template <typename Dtype>
void caffe_gpu_axpby(const int N, const Dtype alpha, const Dtype* X, const Dtype beta, Dtype* Y);

/// Copies N bytes between any two places, host or device.
void caffe_gpu_memcpy(const size_t N, const void* X, void* Y);

template <typename Dtype>
void caffe_gpu_set(const int N, const Dtype alpha, Dtype* X);

inline void caffe_gpu_memset(const size_t N, const int alpha, void* X) {
  CUDA_CHECK(cudaMemset(X, alpha, N));
}

template <typename Dtype>
void caffe_gpu_add_scalar(const int N, const Dtype alpha, Dtype* X);

template <typename Dtype>
void caffe_gpu_scal(const int N, const Dtype alpha, Dtype* X);

template <typename Dtype>
void caffe_gpu_scal(const int N, const Dtype alpha, Dtype* X, cudaStream_t str);

template <typename Dtype>
void caffe_gpu_add(const int N, const Dtype* a, const Dtype* b, Dtype* y);

template <typename Dtype>
void caffe_gpu_sub(const int N, const Dtype* a, const Dtype* b, Dtype* y);

template <typename Dtype>
void caffe_gpu_mul(const int N, const Dtype* a, const Dtype* b, Dtype* y);

template <typename Dtype>
void caffe_gpu_div(const int N, const Dtype* a, const Dtype* b, Dtype* y);

template <typename Dtype>
void caffe_gpu_abs(const int n, const Dtype* a, Dtype* y);

template <typename Dtype>
void caffe_gpu_exp(const int n, const Dtype* a, Dtype* y);

template <typename Dtype>
void caffe_gpu_log(const int n, const Dtype* a, Dtype* y);

template <typename Dtype>
void caffe_gpu_powx(const int n, const Dtype* a, const Dtype b, Dtype* y);

template <typename Dtype>
void caffe_gpu_sqrt(const int n, const Dtype* a, Dtype* y);

/// Fills r with integers uniform on [0, UINT_MAX].
void caffe_gpu_rng_uniform(const int n, unsigned int* r);

template <typename Dtype>
void caffe_gpu_rng_uniform(const int n, const Dtype a, const Dtype b, Dtype* r);

template <typename Dtype>
void caffe_gpu_rng_gaussian(const int n, const Dtype mu, const Dtype sigma, Dtype* r);

template <typename Dtype>
void caffe_gpu_rng_bernoulli(const int n, const Dtype p, int* r);

/// `out` is a host pointer.
template <typename Dtype>
void caffe_gpu_dot(const int n, const Dtype* x, const Dtype* y, Dtype* out);

/// `y` is a host pointer.
template <typename Dtype>
void caffe_gpu_asum(const int n, const Dtype* x, Dtype* y);

template <typename Dtype>
void caffe_gpu_sign(const int n, const Dtype* x, Dtype* y);

template <typename Dtype>
void caffe_gpu_sgnbit(const int n, const Dtype* x, Dtype* y);

template <typename Dtype>
void caffe_gpu_fabs(const int n, const Dtype* x, Dtype* y);

template <typename Dtype>
void caffe_gpu_scale(const int n, const Dtype alpha, const Dtype* x, Dtype* y);

/// Defines caffe_gpu_<name>(n, x, y) for float and double as a kernel that runs `operation` for
/// each index.
#define DEFINE_AND_INSTANTIATE_GPU_UNARY_FUNC(name, operation)                       \
  template <typename Dtype>                                                          \
  __global__ void name##_kernel(const int n, const Dtype* x, Dtype* y) {             \
    CUDA_KERNEL_LOOP(index, n) { operation; }                                        \
  }                                                                                  \
  template <>                                                                        \
  void caffe_gpu_##name<float>(const int n, const float* x, float* y) {              \
    name##_kernel<float><<<CAFFE_GET_BLOCKS(n), CAFFE_CUDA_NUM_THREADS>>>(n, x, y);  \
  }                                                                                  \
  template <>                                                                        \
  void caffe_gpu_##name<double>(const int n, const double* x, double* y) {           \
    name##_kernel<double><<<CAFFE_GET_BLOCKS(n), CAFFE_CUDA_NUM_THREADS>>>(n, x, y); \
  }
#endif  // CPU_ONLY

}  // namespace caffe

#endif  // CAFFE_UTIL_MATH_FUNCTIONS_H_
