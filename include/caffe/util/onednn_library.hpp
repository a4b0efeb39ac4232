#ifndef CAFFE_UTIL_ONEDNN_LIBRARY_HPP_
#define CAFFE_UTIL_ONEDNN_LIBRARY_HPP_

#include <cstdint>

namespace caffe {

/// Function `name` of libcaffe_onednn.so (src/caffe/kernels/onednn), the part of libcaffe that
/// links to oneDNN; null where this build or this machine has none, which the log then says once.
/// The library is opened at the first call. Threads may call it at the same time.
void* FindInOneDnnLibrary(const char* name);
/// The same with its type: OneDnnFunction<decltype(f)>("f").
template <typename Function>
Function* OneDnnFunction(const char* name) {
  return reinterpret_cast<Function*>(FindInOneDnnLibrary(name));
}

/// What both sides must have the same: another number for each change of what a function of the
/// library takes.
inline constexpr int64_t kOneDnnInterface = 4;

}  // namespace caffe

extern "C" int64_t layrub_onednn_interface();

/// C = alpha * op(A) * op(B) + beta * C of row-major matrices, as cblas_sgemm has it, on the
/// calling thread. False: BLAS would be faster, or there was no memory; C is as it was.
extern "C" bool layrub_onednn_product(bool trans_a, bool trans_b, int64_t m, int64_t n, int64_t k,
                                      float alpha, const float* a, int64_t lda, const float* b,
                                      int64_t ldb, float beta, float* c, int64_t ldc);

#endif  // CAFFE_UTIL_ONEDNN_LIBRARY_HPP_
