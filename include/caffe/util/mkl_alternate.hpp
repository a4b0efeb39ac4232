#ifndef CAFFE_UTIL_MKL_ALTERNATE_H_
#define CAFFE_UTIL_MKL_ALTERNATE_H_

// BLAS, and replacements of MKL's elementwise functions (v?Add, v?Exp, ...) if MKL is not used.

#ifdef USE_MKL

#include <mkl.h>

#else  // USE_MKL

extern "C" {
#include <cblas.h>
}
#include <glog/logging.h>

#include <cmath>

/// Defines vs<name> and vd<name>(n, a, y) as a loop of `operation`, which reads a[i] and sets y[i].
/// y may be a.
#define DEFINE_VSL_UNARY_FUNC(name, operation)                                             \
  template <typename Dtype>                                                                \
  inline void v##name(const int n, const Dtype* a, Dtype* y) {                             \
    CHECK_GE(n, 0);                                                                        \
    CHECK(n == 0 || (a && y));                                                             \
    for (int i = 0; i < n; ++i) {                                                          \
      operation;                                                                           \
    }                                                                                      \
  }                                                                                        \
  inline void vs##name(const int n, const float* a, float* y) { v##name<float>(n, a, y); } \
  inline void vd##name(const int n, const double* a, double* y) { v##name<double>(n, a, y); }

/// The same with a scalar operand b: v?<name>(n, a, b, y).
#define DEFINE_VSL_UNARY_FUNC_WITH_PARAM(name, operation)                         \
  template <typename Dtype>                                                       \
  inline void v##name(const int n, const Dtype* a, const Dtype b, Dtype* y) {     \
    CHECK_GE(n, 0);                                                               \
    CHECK(n == 0 || (a && y));                                                    \
    for (int i = 0; i < n; ++i) {                                                 \
      operation;                                                                  \
    }                                                                             \
  }                                                                               \
  inline void vs##name(const int n, const float* a, const float b, float* y) {    \
    v##name<float>(n, a, b, y);                                                   \
  }                                                                               \
  inline void vd##name(const int n, const double* a, const double b, double* y) { \
    v##name<double>(n, a, b, y);                                                  \
  }

/// The same with a second array b: v?<name>(n, a, b, y).
#define DEFINE_VSL_BINARY_FUNC(name, operation)                                    \
  template <typename Dtype>                                                        \
  inline void v##name(const int n, const Dtype* a, const Dtype* b, Dtype* y) {     \
    CHECK_GE(n, 0);                                                                \
    CHECK(n == 0 || (a && b && y));                                                \
    for (int i = 0; i < n; ++i) {                                                  \
      operation;                                                                   \
    }                                                                              \
  }                                                                                \
  inline void vs##name(const int n, const float* a, const float* b, float* y) {    \
    v##name<float>(n, a, b, y);                                                    \
  }                                                                                \
  inline void vd##name(const int n, const double* a, const double* b, double* y) { \
    v##name<double>(n, a, b, y);                                                   \
  }

DEFINE_VSL_UNARY_FUNC(Sqr, y[i] = a[i] * a[i])
DEFINE_VSL_UNARY_FUNC(Sqrt, y[i] = std::sqrt(a[i]))
DEFINE_VSL_UNARY_FUNC(Exp, y[i] = std::exp(a[i]))
DEFINE_VSL_UNARY_FUNC(Ln, y[i] = std::log(a[i]))
DEFINE_VSL_UNARY_FUNC(Abs, y[i] = std::fabs(a[i]))
DEFINE_VSL_UNARY_FUNC_WITH_PARAM(Powx, y[i] = std::pow(a[i], b))
DEFINE_VSL_BINARY_FUNC(Add, y[i] = a[i] + b[i])
DEFINE_VSL_BINARY_FUNC(Sub, y[i] = a[i] - b[i])
DEFINE_VSL_BINARY_FUNC(Mul, y[i] = a[i] * b[i])
DEFINE_VSL_BINARY_FUNC(Div, y[i] = a[i] / b[i])

// cblas_saxpby and cblas_daxpby come from OpenBLAS.

#endif  // USE_MKL

#endif  // CAFFE_UTIL_MKL_ALTERNATE_H_
