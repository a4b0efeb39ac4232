#ifndef CAFFE_UTIL_NCCL_H_
#define CAFFE_UTIL_NCCL_H_

// Helpers for code that calls NCCL, as in Caffe. They need USE_NCCL, and the including program must
// link to NCCL. The library itself loads NCCL when several GPUs train together.

#ifdef USE_NCCL

#include <nccl.h>

#include "caffe/common.hpp"

/// Aborts, naming the call, if it fails.
#define NCCL_CHECK(condition)                                                                    \
  do {                                                                                           \
    const ncclResult_t nccl_result = (condition);                                                \
    CHECK_EQ(nccl_result, ncclSuccess) << #condition << ": " << ncclGetErrorString(nccl_result); \
  } while (0)

namespace caffe {
namespace nccl {

/// NCCL's name of a value type.
template <typename Dtype>
class dataType;
template <>
class dataType<float> {
 public:
  static constexpr ncclDataType_t type = ncclFloat;
};
template <>
class dataType<double> {
 public:
  static constexpr ncclDataType_t type = ncclDouble;
};

}  // namespace nccl
}  // namespace caffe

#endif  // USE_NCCL

#endif  // CAFFE_UTIL_NCCL_H_
