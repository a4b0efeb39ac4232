#ifndef CAFFE_KERNELS_MATH_GEMM_HPP_
#define CAFFE_KERNELS_MATH_GEMM_HPP_

#include <cstdint>

#include "caffe/device_context.hpp"

namespace caffe {
namespace kernels {

enum class Transpose { kNo, kYes };

/// C = alpha * op(A) * op(B) + beta * C; all matrices dense and row-major, op(A) is m x k, op(B) k
/// x n, C m x n. C is not read when beta is 0. Uses BLAS or, on a GPU, cuBLAS. Aborts if a
/// dimension exceeds the range of BLAS integers.
template <typename Dtype>
void Gemm(const DeviceContext& context, Transpose trans_a, Transpose trans_b, int64_t m, int64_t n,
          int64_t k, Dtype alpha, const Dtype* a, const Dtype* b, Dtype beta, Dtype* c);

/// `count` products. The steps are the distances, in values, between the matrices of consecutive
/// products; with a step of 0 all products share the matrix.
struct GemmBatch {
  int64_t count;
  int64_t a_step, b_step, c_step;
};

/// Gemm for each product of `batch`; on a GPU in one launch. The matrices C must not overlap.
template <typename Dtype>
void BatchedGemm(const DeviceContext& context, const GemmBatch& batch, Transpose trans_a,
                 Transpose trans_b, int64_t m, int64_t n, int64_t k, Dtype alpha, const Dtype* a,
                 const Dtype* b, Dtype beta, Dtype* c);

}  // namespace kernels
}  // namespace caffe

#endif  // CAFFE_KERNELS_MATH_GEMM_HPP_
