#ifndef CAFFE_KERNELS_HOST_LAUNCH_HPP_
#define CAFFE_KERNELS_HOST_LAUNCH_HPP_

// For tests: kernels as they are written for a GPU, compiled for the CPU and run as a GPU might run
// them. Included by launch.hpp alone.

#include <functional>

#ifndef CPU_ONLY  // its headers have empty words for all compilers but its own
#include <cuda_runtime.h>
#undef __global__
#undef __launch_bounds__
#undef __shared__
#endif

// The words of CUDA that kernels use. One block runs at a time, so what its threads share is
// static.
#define __global__
#define __launch_bounds__(threads)
#define __shared__ static

namespace caffe {
namespace kernels {

struct LaunchIndex {
  unsigned x = 0;
};
/// Of the thread of the kernel that is at work.
extern thread_local LaunchIndex threadIdx, blockIdx, blockDim, gridDim;

/// Returns when all threads of the block have come to it. Fatal if one of them ends before, or if
/// the launch was said to need none.
void __syncthreads();

/// Calls `kernel` for each thread of each block, from the last to the first: no result may depend
/// on their order. With `barriers` the threads of a block take turns whenever they wait; under the
/// thread sanitizer they are threads of the system, so that it sees a barrier that is missing.
void LaunchOnHost(unsigned blocks, int threads, bool barriers, const std::function<void()>& kernel);

/// Calls `run` when `stream`, a cudaStream_t, has come so far. In builds whose CUDA runtime is a
/// fake.
void QueueOnHost(void* stream, std::function<void()> run);

}  // namespace kernels
}  // namespace caffe

#endif  // CAFFE_KERNELS_HOST_LAUNCH_HPP_
