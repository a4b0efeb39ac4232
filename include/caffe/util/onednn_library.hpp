#ifndef CAFFE_UTIL_ONEDNN_LIBRARY_HPP_
#define CAFFE_UTIL_ONEDNN_LIBRARY_HPP_

#include <cstdint>

namespace caffe {

/// Returns function `name` of libcaffe_onednn.so (src/caffe/kernels/onednn), the part of libcaffe
/// that links to oneDNN. Returns null, and logs so once, if this build or machine does not have it.
/// The first call opens the library. Thread safe.
void* FindInOneDnnLibrary(const char* name);
/// The same with its type: OneDnnFunction<decltype(f)>("f").
template <typename Function>
Function* OneDnnFunction(const char* name) {
  return reinterpret_cast<Function*>(FindInOneDnnLibrary(name));
}

/// The version of the interface, which must be the same on both sides. Increase it with each change
/// of a function's parameters.
inline constexpr int64_t kOneDnnInterface = 4;

}  // namespace caffe

extern "C" int64_t layrub_onednn_interface();

/// Computes C = alpha * op(A) * op(B) + beta * C for row-major matrices, as cblas_sgemm does, on
/// the calling thread. Returns false, with C unchanged, if BLAS would be faster or there is no
/// memory.
extern "C" bool layrub_onednn_product(bool trans_a, bool trans_b, int64_t m, int64_t n, int64_t k,
                                      float alpha, const float* a, int64_t lda, const float* b,
                                      int64_t ldb, float beta, float* c, int64_t ldc);

#endif  // CAFFE_UTIL_ONEDNN_LIBRARY_HPP_
