#ifndef CAFFE_UTIL_CPU_GEMM_HPP_
#define CAFFE_UTIL_CPU_GEMM_HPP_

#include <cstdint>

#include "caffe/util/mkl_alternate.hpp"

namespace caffe {

/// While one lives, BLAS runs each call on the thread that makes it. May be made by several threads
/// at a time; the last that ends gives BLAS back as many threads as it had.
class OneBlasThread {
 public:
  OneBlasThread();
  ~OneBlasThread();
  OneBlasThread(const OneBlasThread&) = delete;
  OneBlasThread& operator=(const OneBlasThread&) = delete;
};

/// How many threads BLAS may have (OPENBLAS_NUM_THREADS), at most CpuThreads().
int BlasThreads();

/// `count` products C = alpha * op(A) * op(B) + beta * C of dense, row-major matrices, each so many
/// values behind the same one of the product before: op(A) is m x k, op(B) k x n, C m x n. The C
/// lie apart; they are not read where beta is 0. BLAS computes them in BlasThreads() shares, on the
/// threads of RunOnThreads, so that products and loops wait for each other without turning. The
/// same bits each time, for the same number of threads.
template <typename Dtype>
void CpuGemm(int64_t count, int64_t a_step, int64_t b_step, int64_t c_step, CBLAS_TRANSPOSE trans_a,
             CBLAS_TRANSPOSE trans_b, int m, int n, int k, Dtype alpha, const Dtype* a,
             const Dtype* b, Dtype beta, Dtype* c);

}  // namespace caffe

#endif  // CAFFE_UTIL_CPU_GEMM_HPP_
