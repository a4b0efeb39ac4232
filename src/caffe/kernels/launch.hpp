#ifndef CAFFE_KERNELS_LAUNCH_HPP_
#define CAFFE_KERNELS_LAUNCH_HPP_

// Launches GPU kernels. With nvcc they run on the GPU. In test builds (LAYRUB_LAUNCH_ON_HOST)
// host_launch.hpp runs them on the CPU: immediately, or, with the fake CUDA runtime, when their
// stream reaches them. In other builds there are no launches and LAYRUB_LAUNCHES is 0.

#include <cstdint>

#include "caffe/device_context.hpp"

#if defined(__CUDACC__)
#define LAYRUB_LAUNCHES 1
#elif defined(LAYRUB_LAUNCH_ON_HOST)
#define LAYRUB_LAUNCHES 1
#include "caffe/kernels/host_launch.hpp"
#else
#define LAYRUB_LAUNCHES 0
#endif

namespace caffe {
namespace kernels {

/// While this object exists, loops on the CPU may access the memory that kernels of `context` use.
class HostKernel {
 public:
  explicit HostKernel(const DeviceContext& context)
      : device_(context.gpu ? context.device : nullptr) {
    if (device_ != nullptr) Begin();
  }
  ~HostKernel() {
    if (device_ != nullptr) End();
  }
  HostKernel(const HostKernel&) = delete;
  HostKernel& operator=(const HostKernel&) = delete;

 private:
  void Begin();
  void End();

  layrub::Device* const device_;
};

/// Finishes deferred work and makes the device of `context` the calling thread's current device.
void PrepareLaunch(const DeviceContext& context);

#if LAYRUB_LAUNCHES
// kBlock: threads per block. kMaxBlocks: the maximum number of blocks of an elementwise loop; with
// more elements each thread handles several. kFullGrid: the number of blocks that fills a large GPU
// (132 multiprocessors, 8 blocks each). A sum over fewer rows than that is split into parts of at
// least kMinPart elements. The constants do not depend on the GPU, so sums have the same bits on
// all GPUs. On the CPU the constants are so small that tests reach every path with small arrays.
#ifdef __CUDACC__
inline constexpr int kBlock = 256;
inline constexpr int64_t kMaxBlocks = 1 << 20, kFullGrid = 1024, kMinPart = 16 * kBlock;
#else
inline constexpr int kBlock = 8;
inline constexpr int64_t kMaxBlocks = 50, kFullGrid = 8, kMinPart = 2 * kBlock;
#endif
/// Maximum bytes of one part's sum: kFullGrid of them fit in a device's library workspace.
inline constexpr int64_t kPartBytes = 32;

/// Whether the threads of a kernel's blocks wait for each other.
enum class Barriers : uint8_t { kNone, kSome };

#ifndef CPU_ONLY
/// Reports a failed launch. Defined next to the CUDA backend's error handling.
void CheckLaunch();
#endif

/// Queues kernel(args...) on the stream of `context`, in `blocks` blocks of `threads` threads.
template <typename... Params, typename... Args>
void Launch(const DeviceContext& context, [[maybe_unused]] Barriers barriers, int64_t blocks,
            int threads, void (*kernel)(Params...), const Args&... args) {
  PrepareLaunch(context);
  const auto grid = static_cast<unsigned>(blocks);
#ifdef __CUDACC__
  kernel<<<grid, threads, 0, static_cast<cudaStream_t>(context.stream)>>>(args...);
  CheckLaunch();
#else
  const std::function<void()> run = [=] {
    LaunchOnHost(grid, threads, barriers == Barriers::kSome, [&] { kernel(args...); });
  };
#ifdef CPU_ONLY
  const HostKernel scope(context);
  run();
#else
  QueueOnHost(context.stream, run);
  CheckLaunch();
#endif
#endif
}
#endif

}  // namespace kernels
}  // namespace caffe

#endif  // CAFFE_KERNELS_LAUNCH_HPP_
