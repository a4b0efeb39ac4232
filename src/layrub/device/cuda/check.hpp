#ifndef LAYRUB_DEVICE_CUDA_CHECK_HPP_
#define LAYRUB_DEVICE_CUDA_CHECK_HPP_

#include <cuda_runtime.h>
#include <glog/logging.h>

#include <string>

#include "layrub/device/failure.hpp"

namespace layrub {

/// Returns a message that says that `call` failed with `error`. Clears CUDA's last error, which the
/// next check of a kernel would otherwise report.
inline std::string CudaFailure(const char* call, cudaError_t error) {
  cudaGetLastError();
  return std::string(call) + ": " + cudaGetErrorString(error) +
         (error == cudaErrorMemoryAllocation
              ? ": CUDA needs memory beside the plan: give a smaller --device_memory, or end other "
                "programs that use the GPU's memory."
              : ".");
}

}  // namespace layrub

/// Makes the call. If it returns an error, Fail is called with a message that names the call.
#define LAYRUB_CUDA(call)                                                             \
  do {                                                                                \
    const cudaError_t layrub_error = (call);                                          \
    if (layrub_error != cudaSuccess)                                                  \
      ::layrub::Fail(::layrub::CudaFailure(#call, layrub_error), __FILE__, __LINE__); \
  } while (0)

/// The same for destructors: an error is only logged.
#define LAYRUB_CUDA_AT_END(call)                                                               \
  do {                                                                                         \
    const cudaError_t layrub_error = (call);                                                   \
    if (layrub_error != cudaSuccess) LOG(ERROR) << ::layrub::CudaFailure(#call, layrub_error); \
  } while (0)

#endif  // LAYRUB_DEVICE_CUDA_CHECK_HPP_
