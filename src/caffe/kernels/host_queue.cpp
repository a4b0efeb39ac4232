// Hands kernels to the fake CUDA runtime in builds for a fake GPU; empty in other builds.
#if defined(LAYRUB_LAUNCH_ON_HOST) && !defined(CPU_ONLY)
#include <utility>

#include "caffe/kernels/launch.hpp"
#include "layrub/device/cuda/test/fake_runtime.hpp"

namespace caffe {
namespace kernels {

void QueueOnHost(void* stream, std::function<void()> run) {
  layrub::fake_cuda::Launch(std::move(run), static_cast<cudaStream_t>(stream));
}

}  // namespace kernels
}  // namespace caffe
#endif
