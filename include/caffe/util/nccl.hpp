#ifndef CAFFE_UTIL_NCCL_H_
#define CAFFE_UTIL_NCCL_H_

// What code with calls of NCCL uses, as in Caffe: with USE_NCCL, and linked to NCCL by the program
// that includes it. The library itself opens NCCL when several GPUs train together.

#ifdef USE_NCCL

#include <nccl.h>

#include "caffe/common.hpp"

/// Ends the program, naming the call, when it fails.
#define NCCL_CHECK(condition)                                                                    \
  do {                                                                                           \
    const ncclResult_t nccl_result = (condition);                                                \
    CHECK_EQ(nccl_result, ncclSuccess) << #condition << ": " << ncclGetErrorString(nccl_result); \
  } while (0)

namespace caffe {
namespace nccl {

/// How NCCL calls a type of values.
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
