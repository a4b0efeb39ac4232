// libcaffe_onednn.so: products of matrices by oneDNN.
#include <dnnl.h>

#include "caffe/kernels/onednn/openmp.hpp"
#include "caffe/util/onednn_library.hpp"

namespace {

/// Multiplications below which BLAS begins sooner.
constexpr int64_t kFewest = 1 << 19;

bool HasAvx512() {
  static const bool has = (dnnl_get_effective_cpu_isa() & dnnl_cpu_isa_avx512_core) ==
                          static_cast<unsigned>(dnnl_cpu_isa_avx512_core);
  return has;
}

/// Where OpenBLAS was found to be faster (performance.md). Where a processor has no AVX-512, oneDNN
/// reads some factors in long strides that OpenBLAS packs.
bool BlasIsFaster(bool trans_a, bool trans_b, int64_t m, int64_t n, int64_t k) {
  if (m * n * k < kFewest) return true;
  if (HasAvx512() || trans_b) return false;
  return m <= 32 || (trans_a && m >= 512 && n <= 512);
}

}  // namespace

int64_t layrub_onednn_interface() { return caffe::kOneDnnInterface; }

bool layrub_onednn_product(bool trans_a, bool trans_b, int64_t m, int64_t n, int64_t k, float alpha,
                           const float* a, int64_t lda, const float* b, int64_t ldb, float beta,
                           float* c, int64_t ldc) {
  if (BlasIsFaster(trans_a, trans_b, m, n, k)) return false;
  const caffe::kernels::OmpThreads scope(1);
  return dnnl_sgemm(trans_a ? 'T' : 'N', trans_b ? 'T' : 'N', m, n, k, alpha, a, lda, b, ldb, beta,
                    c, ldc) == dnnl_success;
}
