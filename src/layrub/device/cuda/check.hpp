#ifndef LAYRUB_DEVICE_CUDA_CHECK_HPP_
#define LAYRUB_DEVICE_CUDA_CHECK_HPP_

#include <cuda_runtime.h>
#include <glog/logging.h>

#include <string>

#include "layrub/device/failure.hpp"

namespace layrub {

/// What is wrong with `call`, which has given `error`. The error is forgotten: the next check of a
/// kernel would report it, in a program that goes on.
inline std::string CudaFailure(const char* call, cudaError_t error) {
  cudaGetLastError();
  return std::string(call) + ": " + cudaGetErrorString(error) +
         (error == cudaErrorMemoryAllocation
              ? ": CUDA needs memory beside the plan, give a smaller --device_memory or end what "
                "else takes memory of the GPU."
              : ".");
}

}  // namespace layrub

/// Fails, naming the call, when it fails.
#define LAYRUB_CUDA(call)                                                             \
  do {                                                                                \
    const cudaError_t layrub_error = (call);                                          \
    if (layrub_error != cudaSuccess)                                                  \
      ::layrub::Fail(::layrub::CudaFailure(#call, layrub_error), __FILE__, __LINE__); \
  } while (0)

/// The same in a destructor: nobody can be told, so the log is.
#define LAYRUB_CUDA_AT_END(call)                                                               \
  do {                                                                                         \
    const cudaError_t layrub_error = (call);                                                   \
    if (layrub_error != cudaSuccess) LOG(ERROR) << ::layrub::CudaFailure(#call, layrub_error); \
  } while (0)

#endif  // LAYRUB_DEVICE_CUDA_CHECK_HPP_
