// A fake of the part of cuBLAS that this project calls, by the CPU's BLAS.
#include <cblas.h>
#include <cublas_v2.h>

#include "layrub/device/cuda/test/fake_libraries/fake_library.hpp"

// NOLINTNEXTLINE(build/namespaces)
using namespace layrub::fake_cuda;

struct cublasContext {
  Place place;
  void* workspace = nullptr;
  int64_t workspace_bytes = 0;
};

namespace {

constexpr int64_t kLibraryBytes = int64_t{4} << 20;

cublasStatus_t Status(cudaError_t error) {
  return error == cudaSuccess ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_EXECUTION_FAILED;
}

CBLAS_TRANSPOSE Blas(cublasOperation_t operation) {
  return operation == CUBLAS_OP_N ? CblasNoTrans : CblasTrans;
}

template <typename Number>
Operand Values(const Number* values, int64_t count, bool written = false) {
  return {values, std::max<int64_t>(count, 0) * static_cast<int64_t>(sizeof(Number)), written};
}

void Multiply(CBLAS_TRANSPOSE ta, CBLAS_TRANSPOSE tb, int m, int n, int k, float alpha,
              const float* a, int lda, const float* b, int ldb, float beta, float* c, int ldc) {
  cblas_sgemm(CblasColMajor, ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
}
void Multiply(CBLAS_TRANSPOSE ta, CBLAS_TRANSPOSE tb, int m, int n, int k, double alpha,
              const double* a, int lda, const double* b, int ldb, double beta, double* c, int ldc) {
  cblas_dgemm(CblasColMajor, ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
}

/// Number of values from the first to the last of a `rows` by `columns` matrix, stored by columns.
int64_t Extent(int rows, int columns, int leading) {
  return rows == 0 || columns == 0 ? 0 : int64_t{leading} * (columns - 1) + rows;
}

template <typename Number>
cublasStatus_t Gemm(const char* name, cublasHandle_t handle, cublasOperation_t ta,
                    cublasOperation_t tb, int m, int n, int k, Number alpha, const Number* a,
                    int lda, int64_t a_step, const Number* b, int ldb, int64_t b_step, Number beta,
                    Number* c, int ldc, int64_t c_step, int count) {
  const bool na = ta == CUBLAS_OP_N, nb = tb == CUBLAS_OP_N;
  if (m < 0 || n < 0 || k < 0 || count < 0 || lda < std::max(1, na ? m : k) ||
      ldb < std::max(1, nb ? k : n) || ldc < std::max(1, m)) {
    return CUBLAS_STATUS_INVALID_VALUE;
  }
  if (m == 0 || n == 0 || count == 0) return Status(PlainCall(name));
  const int last = count - 1;
  const Operand workspace{handle->workspace, handle->workspace_bytes, true};
  return Status(QueueCall(name, handle->place,
                          {Values(a, Extent(na ? m : k, na ? k : m, lda) + last * a_step),
                           Values(b, Extent(nb ? k : n, nb ? n : k, ldb) + last * b_step),
                           Values(c, Extent(m, n, ldc) + last * c_step, true), workspace},
                          [=] {
                            Spoil(const_cast<void*>(workspace.address), workspace.bytes);
                            for (int i = 0; i < count; ++i) {
                              Multiply(Blas(ta), Blas(tb), m, n, k, alpha, a + i * a_step, lda,
                                       b + i * b_step, ldb, beta, c + i * c_step, ldc);
                            }
                          }));
}

/// y = alpha * op(a) * x + beta * y
template <typename Number>
cublasStatus_t Gemv(const char* name, cublasHandle_t handle, cublasOperation_t t, int m, int n,
                    Number alpha, const Number* a, int lda, const Number* x, Number beta,
                    Number* y) {
  if (m < 0 || n < 0 || lda < std::max(1, m)) return CUBLAS_STATUS_INVALID_VALUE;
  const int from = t == CUBLAS_OP_N ? n : m, to = t == CUBLAS_OP_N ? m : n;
  return Status(QueueCall(
      name, handle->place, {Values(a, Extent(m, n, lda)), Values(x, from), Values(y, to, true)},
      [=] {
        for (int i = 0; i < to; ++i) {
          Number sum = 0;
          for (int j = 0; j < from; ++j) {
            const int64_t at = t == CUBLAS_OP_N ? i + int64_t{j} * lda : j + int64_t{i} * lda;
            sum += a[at] * x[j];
          }
          y[i] = alpha * sum + (beta == 0 ? Number(0) : beta * y[i]);
        }
      }));
}

template <typename Number>
cublasStatus_t Axpy(const char* name, cublasHandle_t handle, int n, Number alpha, const Number* x,
                    Number* y) {
  return Status(QueueCall(name, handle->place, {Values(x, n), Values(y, n, true)}, [=] {
    for (int i = 0; i < n; ++i) y[i] += alpha * x[i];
  }));
}

template <typename Number>
cublasStatus_t Scal(const char* name, cublasHandle_t handle, int n, Number alpha, Number* x) {
  return Status(QueueCall(name, handle->place, {Values(x, n, true)}, [=] {
    for (int i = 0; i < n; ++i) x[i] *= alpha;
  }));
}

/// Waits if the result is in host memory.
template <typename Number>
cublasStatus_t Dot(const char* name, cublasHandle_t handle, int n, const Number* x, const Number* y,
                   Number* result) {
  return Status(QueueCall(
      name, handle->place, {Values(x, n), Values(y, n)},
      [=] {
        *result = 0;
        for (int i = 0; i < n; ++i) *result += x[i] * y[i];
      },
      InPlace::kYes, true));
}

template <typename Number>
cublasStatus_t Asum(const char* name, cublasHandle_t handle, int n, const Number* x,
                    Number* result) {
  return Status(QueueCall(
      name, handle->place, {Values(x, n)},
      [=] {
        *result = 0;
        for (int i = 0; i < n; ++i) *result += x[i] < 0 ? -x[i] : x[i];
      },
      InPlace::kYes, true));
}

bool Ones(int incx, int incy = 1) { return incx == 1 && incy == 1; }

}  // namespace

extern "C" {

cublasStatus_t cublasCreate_v2(cublasHandle_t* handle) {
  const cublasStatus_t status = Status(OpenLibrary("cublasCreate", kLibraryBytes));
  if (status == CUBLAS_STATUS_SUCCESS) *handle = new cublasContext;
  openblas_set_num_threads(1);  // the same bits, however busy the machine is
  return status;
}

cublasStatus_t cublasDestroy_v2(cublasHandle_t handle) {
  const Place place = handle->place;
  delete handle;
  return Status(CloseLibrary("cublasDestroy", place, kLibraryBytes));
}

cublasStatus_t cublasSetWorkspace_v2(cublasHandle_t handle, void* workspace, size_t bytes) {
  if (reinterpret_cast<uintptr_t>(workspace) % 256 != 0) return CUBLAS_STATUS_INVALID_VALUE;
  handle->workspace = workspace;
  handle->workspace_bytes = static_cast<int64_t>(bytes);
  return Status(PlainCall("cublasSetWorkspace"));
}

cublasStatus_t cublasSetMathMode(cublasHandle_t, cublasMath_t) {
  return Status(PlainCall("cublasSetMathMode"));
}

cublasStatus_t cublasSetStream_v2(cublasHandle_t handle, cudaStream_t stream) {
  handle->place.stream = stream;
  handle->workspace = nullptr;  // as cuBLAS: the next call would take memory of its own
  handle->workspace_bytes = 0;
  return Status(PlainCall("cublasSetStream"));
}

cublasStatus_t cublasGetStream_v2(cublasHandle_t handle, cudaStream_t* stream) {
  *stream = handle->place.stream;
  return Status(PlainCall("cublasGetStream"));
}

const char* cublasGetStatusString(cublasStatus_t status) {
  return status == CUBLAS_STATUS_INVALID_VALUE ? "an unsupported value or parameter was passed"
                                               : "the GPU program failed to execute";
}

#define LAYRUB_FAKE_CUBLAS(letter, Number)                                                         \
  cublasStatus_t cublas##letter##gemm_v2(                                                          \
      cublasHandle_t handle, cublasOperation_t ta, cublasOperation_t tb, int m, int n, int k,      \
      const Number* alpha, const Number* a, int lda, const Number* b, int ldb, const Number* beta, \
      Number* c, int ldc) {                                                                        \
    return Gemm("cublas" #letter "gemm", handle, ta, tb, m, n, k, *alpha, a, lda, 0, b, ldb, 0,    \
                *beta, c, ldc, 0, 1);                                                              \
  }                                                                                                \
  cublasStatus_t cublas##letter##gemmStridedBatched(                                               \
      cublasHandle_t handle, cublasOperation_t ta, cublasOperation_t tb, int m, int n, int k,      \
      const Number* alpha, const Number* a, int lda, long long int a_step, const Number* b,        \
      int ldb, long long int b_step, const Number* beta, Number* c, int ldc, long long int c_step, \
      int count) {                                                                                 \
    return Gemm("cublas" #letter "gemmStridedBatched", handle, ta, tb, m, n, k, *alpha, a, lda,    \
                a_step, b, ldb, b_step, *beta, c, ldc, c_step, count);                             \
  }                                                                                                \
  cublasStatus_t cublas##letter##gemv_v2(cublasHandle_t handle, cublasOperation_t t, int m, int n, \
                                         const Number* alpha, const Number* a, int lda,            \
                                         const Number* x, int incx, const Number* beta, Number* y, \
                                         int incy) {                                               \
    if (!Ones(incx, incy)) return CUBLAS_STATUS_NOT_SUPPORTED;                                     \
    return Gemv("cublas" #letter "gemv", handle, t, m, n, *alpha, a, lda, x, *beta, y);            \
  }                                                                                                \
  cublasStatus_t cublas##letter##axpy_v2(cublasHandle_t handle, int n, const Number* alpha,        \
                                         const Number* x, int incx, Number* y, int incy) {         \
    if (!Ones(incx, incy)) return CUBLAS_STATUS_NOT_SUPPORTED;                                     \
    return Axpy("cublas" #letter "axpy", handle, n, *alpha, x, y);                                 \
  }                                                                                                \
  cublasStatus_t cublas##letter##scal_v2(cublasHandle_t handle, int n, const Number* alpha,        \
                                         Number* x, int incx) {                                    \
    if (!Ones(incx)) return CUBLAS_STATUS_NOT_SUPPORTED;                                           \
    return Scal("cublas" #letter "scal", handle, n, *alpha, x);                                    \
  }                                                                                                \
  cublasStatus_t cublas##letter##dot_v2(cublasHandle_t handle, int n, const Number* x, int incx,   \
                                        const Number* y, int incy, Number* result) {               \
    if (!Ones(incx, incy)) return CUBLAS_STATUS_NOT_SUPPORTED;                                     \
    return Dot("cublas" #letter "dot", handle, n, x, y, result);                                   \
  }                                                                                                \
  cublasStatus_t cublas##letter##asum_v2(cublasHandle_t handle, int n, const Number* x, int incx,  \
                                         Number* result) {                                         \
    if (!Ones(incx)) return CUBLAS_STATUS_NOT_SUPPORTED;                                           \
    return Asum("cublas" #letter "asum", handle, n, x, result);                                    \
  }
LAYRUB_FAKE_CUBLAS(S, float)
LAYRUB_FAKE_CUBLAS(D, double)
#undef LAYRUB_FAKE_CUBLAS

}  // extern "C"
