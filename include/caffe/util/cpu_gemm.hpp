#ifndef CAFFE_UTIL_CPU_GEMM_HPP_
#define CAFFE_UTIL_CPU_GEMM_HPP_

#include <cstdint>

#include "caffe/util/mkl_alternate.hpp"

namespace caffe {

/// While an object exists, BLAS runs each call on the calling thread. Several threads may have one
/// at the same time; the last to end restores the number of BLAS threads.
class OneBlasThread {
 public:
  OneBlasThread();
  ~OneBlasThread();
  OneBlasThread(const OneBlasThread&) = delete;
  OneBlasThread& operator=(const OneBlasThread&) = delete;
};

/// The number of threads that BLAS may have (OPENBLAS_NUM_THREADS), at most CpuThreads().
int BlasThreads();

/// Computes `count` products C = alpha * op(A) * op(B) + beta * C of dense, row-major matrices.
/// Product i starts i * a_step, i * b_step and i * c_step values after the first. op(A) is m x k,
/// op(B) k x n, C m x n. The matrices C must not overlap; they are not read if beta is 0. The work
/// is divided into BlasThreads() shares, which run on the threads of RunOnThreads, so that products
/// and loops do not compete for cores. The bits are the same each time for the same number of
/// threads.
template <typename Dtype>
void CpuGemm(int64_t count, int64_t a_step, int64_t b_step, int64_t c_step, CBLAS_TRANSPOSE trans_a,
             CBLAS_TRANSPOSE trans_b, int m, int n, int k, Dtype alpha, const Dtype* a,
             const Dtype* b, Dtype beta, Dtype* c);

}  // namespace caffe

#endif  // CAFFE_UTIL_CPU_GEMM_HPP_
