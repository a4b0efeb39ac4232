// libcaffe_onednn.so: matrix products by oneDNN.
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

/// Whether OpenBLAS was measured to be faster (performance.md). Without AVX-512, oneDNN reads some
/// factors with long strides, while OpenBLAS packs them.
bool BlasIsFaster(bool trans_a, bool trans_b, int64_t m, int64_t n) {
  if (HasAvx512() || trans_b) return false;
  return m <= 32 || (trans_a && m >= 512 && n <= 512);
}

/// While this object exists, signals are blocked in the calling thread. Some of oneDNN's products
/// (with a transposed second factor, on AVX2) use the stack pointer for another address. A signal
/// handler would then overwrite unrelated memory.
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
