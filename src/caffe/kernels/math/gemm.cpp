#include "caffe/kernels/math/gemm.hpp"

#include <algorithm>

#include "caffe/kernels/parallel.hpp"
#include "caffe/util/cpu_gemm.hpp"
#include "caffe/util/math_functions.hpp"

namespace caffe {
namespace kernels {
namespace {

int BlasSize(int64_t size) {
  CHECK_LE(size, INT_MAX) << "a matrix dimension of " << size << " is too large for BLAS";
  return static_cast<int>(size);
}

CBLAS_TRANSPOSE Blas(Transpose transpose) {
  return transpose == Transpose::kYes ? CblasTrans : CblasNoTrans;
}

#ifndef CPU_ONLY
/// cuBLAS matrices are column-major: it computes the transpose of a row-major C, with the factors
/// swapped.
void CublasBatch(const GemmBatch& batch, cublasOperation_t tb, cublasOperation_t ta, int n, int m,
                 int k, float alpha, const float* b, int ldb, const float* a, int lda, float beta,
                 float* c) {
  CUBLAS_CHECK(cublasSgemmStridedBatched(Caffe::cublas_handle(), tb, ta, n, m, k, &alpha, b, ldb,
                                         batch.b_step, a, lda, batch.a_step, &beta, c, n,
                                         batch.c_step, BlasSize(batch.count)));
}

void CublasBatch(const GemmBatch& batch, cublasOperation_t tb, cublasOperation_t ta, int n, int m,
                 int k, double alpha, const double* b, int ldb, const double* a, int lda,
                 double beta, double* c) {
  CUBLAS_CHECK(cublasDgemmStridedBatched(Caffe::cublas_handle(), tb, ta, n, m, k, &alpha, b, ldb,
                                         batch.b_step, a, lda, batch.a_step, &beta, c, n,
                                         batch.c_step, BlasSize(batch.count)));
}
#endif

}  // namespace

template <typename Dtype>
void Gemm(const DeviceContext& context, Transpose trans_a, Transpose trans_b, int64_t m, int64_t n,
          int64_t k, Dtype alpha, const Dtype* a, const Dtype* b, Dtype beta, Dtype* c) {
#ifndef CPU_ONLY
  if (context.launch) {
    if (m == 0 || n == 0) return;
    caffe_gpu_gemm<Dtype>(Blas(trans_a), Blas(trans_b), BlasSize(m), BlasSize(n), BlasSize(k),
                          alpha, a, b, beta, c);
    return;
  }
#endif
  BatchedGemm(context, {1, 0, 0, 0}, trans_a, trans_b, m, n, k, alpha, a, b, beta, c);
}

template <typename Dtype>
void BatchedGemm(const DeviceContext& context, const GemmBatch& batch, Transpose trans_a,
                 Transpose trans_b, int64_t m, int64_t n, int64_t k, Dtype alpha, const Dtype* a,
                 const Dtype* b, Dtype beta, Dtype* c) {
  if (batch.count == 0 || m == 0 || n == 0) return;
  const int rows = BlasSize(m), columns = BlasSize(n), inner = BlasSize(k);
#ifndef CPU_ONLY
  if (context.launch) {
    const bool ta = trans_a == Transpose::kYes, tb = trans_b == Transpose::kYes;
    const int row = std::max(inner, 1);  // cuBLAS does not accept 0
    CublasBatch(batch, tb ? CUBLAS_OP_T : CUBLAS_OP_N, ta ? CUBLAS_OP_T : CUBLAS_OP_N, columns,
                rows, inner, alpha, b, tb ? row : columns, a, ta ? rows : row, beta, c);
    return;
  }
#endif
  const HostKernel scope(context);
  CpuGemm(batch.count, batch.a_step, batch.b_step, batch.c_step, Blas(trans_a), Blas(trans_b), rows,
          columns, inner, alpha, a, b, beta, c);
}

template void Gemm<float>(const DeviceContext&, Transpose, Transpose, int64_t, int64_t, int64_t,
                          float, const float*, const float*, float, float*);
template void Gemm<double>(const DeviceContext&, Transpose, Transpose, int64_t, int64_t, int64_t,
                           double, const double*, const double*, double, double*);
template void BatchedGemm<float>(const DeviceContext&, const GemmBatch&, Transpose, Transpose,
                                 int64_t, int64_t, int64_t, float, const float*, const float*,
                                 float, float*);
template void BatchedGemm<double>(const DeviceContext&, const GemmBatch&, Transpose, Transpose,
                                  int64_t, int64_t, int64_t, double, const double*, const double*,
                                  double, double*);

}  // namespace kernels
}  // namespace caffe
