#ifndef CAFFE_KERNELS_HOST_LAUNCH_HPP_
#define CAFFE_KERNELS_HOST_LAUNCH_HPP_

// For tests: runs kernels written for a GPU on the CPU, in an order that a GPU might use. Only
// launch.hpp includes this file.

#include <functional>

#ifndef CPU_ONLY  // its headers define these as empty for other compilers
#include <cuda_runtime.h>
#undef __global__
#undef __launch_bounds__
#undef __shared__
#endif

// The CUDA keywords that kernels use. Only one block runs at a time, so shared memory can be
// static.
#define __global__
#define __launch_bounds__(threads)
#define __shared__ static

namespace caffe {
namespace kernels {

struct LaunchIndex {
  unsigned x = 0;
};
/// The indices of the kernel thread that is running.
extern thread_local LaunchIndex threadIdx, blockIdx, blockDim, gridDim;

/// Returns when all threads of the block have reached it. Fatal if a thread ends without reaching
/// it, or if the kernel was launched without barriers.
void __syncthreads();

/// Calls `kernel` for each thread of each block, from last to first: no result may depend on the
/// order. With `barriers`, the threads of a block take turns: each runs until it waits at a
/// barrier. Under the thread sanitizer they are system threads instead, so that it detects a
/// missing barrier.
void LaunchOnHost(unsigned blocks, int threads, bool barriers, const std::function<void()>& kernel);

/// Queues `run` on `stream`, a cudaStream_t. Only in builds with the fake CUDA runtime.
void QueueOnHost(void* stream, std::function<void()> run);

}  // namespace kernels
}  // namespace caffe

#endif  // CAFFE_KERNELS_HOST_LAUNCH_HPP_
