#include "caffe/util/cpu_gemm.hpp"

#include <algorithm>
#include <mutex>
#include <optional>

#include "caffe/util/blas_memory.hpp"
#include "caffe/util/onednn_library.hpp"
#include "caffe/util/threads.hpp"

namespace caffe {
namespace {

#ifdef USE_MKL
int GetBlasThreads() { return mkl_get_max_threads(); }
void SetBlasThreads(int threads) { mkl_set_num_threads(threads); }
#else
int GetBlasThreads() { return openblas_get_num_threads(); }
void SetBlasThreads(int threads) { openblas_set_num_threads(threads); }
#endif

/// The number of OneBlasThread objects, and BLAS's number of threads before the first.
std::mutex one_thread_mutex;
int one_thread_users = 0;
int threads_before = 0;

/// Products with fewer multiplications run in BLAS, which starts faster than oneDNN. So a net with
/// only small products does not open oneDNN.
constexpr int64_t kFewestOfOneDnn = 1 << 19;

/// Returns false if BLAS should compute the product.
bool ProductByOneDnn(CBLAS_TRANSPOSE ta, CBLAS_TRANSPOSE tb, int m, int n, int k, float alpha,
                     const float* a, int lda, const float* b, int ldb, float beta, float* c,
                     int ldc) {
  if (int64_t{m} * n * k < kFewestOfOneDnn) return false;
  static const auto product =
      OneDnnFunction<decltype(layrub_onednn_product)>("layrub_onednn_product");
  return product &&
         product(ta == CblasTrans, tb == CblasTrans, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
}

void Product(CBLAS_TRANSPOSE ta, CBLAS_TRANSPOSE tb, int m, int n, int k, float alpha,
             const float* a, int lda, const float* b, int ldb, float beta, float* c, int ldc) {
  if (ProductByOneDnn(ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc)) return;
  cblas_sgemm(CblasRowMajor, ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
}

void Product(CBLAS_TRANSPOSE ta, CBLAS_TRANSPOSE tb, int m, int n, int k, double alpha,
             const double* a, int lda, const double* b, int ldb, double beta, double* c, int ldc) {
  cblas_dgemm(CblasRowMajor, ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
}

/// Multiplications below which a share is not worth waking a thread for.
constexpr double kFewestMultiplications = 1 << 18;
/// A multiple of the rows and columns that BLAS's kernels compute together.
constexpr int64_t kTile = 48;

/// A range of rows or columns.
struct Share {
  int64_t begin, end;
};

/// Returns share `i` of [0, size), divided at multiples of kTile.
Share ShareOf(int64_t size, int64_t i, int64_t shares) {
  const int64_t tiles = (size + kTile - 1) / kTile;
  return {std::min(size, tiles * i / shares * kTile),
          std::min(size, tiles * (i + 1) / shares * kTile)};
}

/// The number of shares for products with this many multiplications in total.
int64_t Shares(double multiplications) {
  const auto worth = static_cast<int64_t>(multiplications / kFewestMultiplications);
  return !kHasThreads || worth <= 1 ? 1 : std::min<int64_t>(BlasThreads(), worth);
}

}  // namespace

OneBlasThread::OneBlasThread() {
  const std::lock_guard lock(one_thread_mutex);
  if (one_thread_users++ > 0) return;
  threads_before = GetBlasThreads();
  if (threads_before != 1) SetBlasThreads(1);
}

OneBlasThread::~OneBlasThread() {
  const std::lock_guard lock(one_thread_mutex);
  if (--one_thread_users == 0 && threads_before != 1) SetBlasThreads(threads_before);
}

int BlasThreads() {
  const std::lock_guard lock(one_thread_mutex);
  const int threads = one_thread_users > 0 ? threads_before : GetBlasThreads();
  return kHasThreads ? std::min(threads, CpuThreads()) : threads;
}

template <typename Dtype>
void CpuGemm(int64_t count, int64_t a_step, int64_t b_step, int64_t c_step, CBLAS_TRANSPOSE trans_a,
             CBLAS_TRANSPOSE trans_b, int m, int n, int k, Dtype alpha, const Dtype* a,
             const Dtype* b, Dtype beta, Dtype* c) {
  const bool ta = trans_a == CblasTrans, tb = trans_b == CblasTrans;
  const int lda = ta ? m : k, ldb = tb ? k : n;
  // Computes the given rows and columns of C of product `i` of the batch.
  const auto run = [&](int64_t i, Share rows, Share columns) {
    if (rows.begin == rows.end || columns.begin == columns.end) return;
    CheckRoomForBlas();
    Product(trans_a, trans_b, static_cast<int>(rows.end - rows.begin),
            static_cast<int>(columns.end - columns.begin), k, alpha,
            a + i * a_step + rows.begin * (ta ? 1 : k), lda,
            b + i * b_step + columns.begin * (tb ? k : 1), ldb, beta,
            c + i * c_step + rows.begin * n + columns.begin, n);
  };
  std::optional<OneBlasThread> scope;
  if (kHasThreads) scope.emplace();  // otherwise BLAS uses its own threads
  const int64_t shares = Shares(static_cast<double>(count) * m * n * k);
  if (shares == 1) {
    for (int64_t i = 0; i < count; ++i) run(i, {0, m}, {0, n});
    return;
  }
  // Each share takes whole products as far as they divide evenly, so that it reads only its own
  // matrices; the rest is split by rows or columns.
  const int64_t whole = count / shares * shares;
  CpuFor(shares, true, [&](int64_t share) {
    for (int64_t i = whole / shares * share; i < whole / shares * (share + 1); ++i)
      run(i, {0, m}, {0, n});
    for (int64_t i = whole; i < count; ++i) {
      if (m >= n) {
        run(i, ShareOf(m, share, shares), {0, n});
      } else {
        run(i, {0, m}, ShareOf(n, share, shares));
      }
    }
  });
}

template void CpuGemm(int64_t, int64_t, int64_t, int64_t, CBLAS_TRANSPOSE, CBLAS_TRANSPOSE, int,
                      int, int, float, const float*, const float*, float, float*);
template void CpuGemm(int64_t, int64_t, int64_t, int64_t, CBLAS_TRANSPOSE, CBLAS_TRANSPOSE, int,
                      int, int, double, const double*, const double*, double, double*);

}  // namespace caffe
