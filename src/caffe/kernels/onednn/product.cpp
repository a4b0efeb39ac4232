// libcaffe_onednn.so: products of matrices by oneDNN.
#include <dnnl.h>
#include <pthread.h>

#include <csignal>

#include "caffe/kernels/onednn/openmp.hpp"
#include "caffe/util/onednn_library.hpp"

namespace {

bool HasAvx512() {
  static const bool has = (dnnl_get_effective_cpu_isa() & dnnl_cpu_isa_avx512_core) ==
                          static_cast<unsigned>(dnnl_cpu_isa_avx512_core);
  return has;
}

/// Where OpenBLAS was found to be faster (performance.md). Where a processor has no AVX-512, oneDNN
/// reads some factors in long strides that OpenBLAS packs.
bool BlasIsFaster(bool trans_a, bool trans_b, int64_t m, int64_t n) {
  if (HasAvx512() || trans_b) return false;
  return m <= 32 || (trans_a && m >= 512 && n <= 512);
}

/// While it lives, the calling thread takes no signals. Some of oneDNN's products (of a transposed
/// second factor, with AVX2) keep another address than the stack's in the stack pointer: what the
/// system writes there to call a handler would go into memory of others.
class WithoutSignals {
 public:
  WithoutSignals() {
    sigset_t all;
    sigfillset(&all);
    for (const int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP}) sigdelset(&all, fault);
    pthread_sigmask(SIG_BLOCK, &all, &before_);
  }
  ~WithoutSignals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  WithoutSignals(const WithoutSignals&) = delete;
  WithoutSignals& operator=(const WithoutSignals&) = delete;

 private:
  sigset_t before_;
};

}  // namespace

int64_t layrub_onednn_interface() { return caffe::kOneDnnInterface; }

bool layrub_onednn_product(bool trans_a, bool trans_b, int64_t m, int64_t n, int64_t k, float alpha,
                           const float* a, int64_t lda, const float* b, int64_t ldb, float beta,
                           float* c, int64_t ldc) {
  if (BlasIsFaster(trans_a, trans_b, m, n)) return false;
  const caffe::kernels::OmpThreads scope(1);
  const WithoutSignals quiet;
  return dnnl_sgemm(trans_a ? 'T' : 'N', trans_b ? 'T' : 'N', m, n, k, alpha, a, lda, b, ldb, beta,
                    c, ldc) == dnnl_success;
}
