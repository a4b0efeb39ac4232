#ifndef LAYRUB_DEVICE_CUDA_CHECK_HPP_
#define LAYRUB_DEVICE_CUDA_CHECK_HPP_

#include <cuda_runtime.h>
#include <glog/logging.h>

/// Ends the program, naming the call, when it fails.
#define LAYRUB_CUDA(call)                                                              \
  do {                                                                                 \
    const cudaError_t layrub_error = (call);                                           \
    if (layrub_error != cudaSuccess) {                                                 \
      LOG(FATAL) << #call << ": " << cudaGetErrorString(layrub_error)                  \
                 << (layrub_error == cudaErrorMemoryAllocation                         \
                         ? ": CUDA needs memory beside the plan, give a smaller "      \
                           "--device_memory or end what else takes memory of the GPU." \
                         : ".");                                                       \
    }                                                                                  \
  } while (0)

#endif  // LAYRUB_DEVICE_CUDA_CHECK_HPP_
