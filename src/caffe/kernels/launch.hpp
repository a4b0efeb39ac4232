#ifndef CAFFE_KERNELS_LAUNCH_HPP_
#define CAFFE_KERNELS_LAUNCH_HPP_

// How kernels of a GPU are launched: on one by CUDA's compiler, and in builds for tests
// (LAYRUB_LAUNCH_ON_HOST) by host_launch.hpp on the CPU: at once, or, where CUDA's runtime is a
// fake, when their stream comes to them. Elsewhere there are none: LAYRUB_LAUNCHES is 0.

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

/// While it lives, loops of this process may touch the memory that kernels of `context` work on.
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

/// Finishes deferred work and makes the device of `context` the calling thread's.
void PrepareLaunch(const DeviceContext& context);

#if LAYRUB_LAUNCHES
// kBlock: threads of a block. kMostBlocks: blocks of a loop over elements at most; beyond them a
// thread has more. kFullGrid: blocks that fill a large GPU, one that runs 8 at a time on each of
// 132 processors; below it a sum is cut into parts, but into none of less than kLeastPart elements.
// It is the same on all GPUs, and so are the bits of sums. On the CPU all are so small that small
// arrays reach every path.
#ifdef __CUDACC__
inline constexpr int kBlock = 256;
inline constexpr int64_t kMostBlocks = 1 << 20, kFullGrid = 1024, kLeastPart = 16 * kBlock;
#else
inline constexpr int kBlock = 8;
inline constexpr int64_t kMostBlocks = 50, kFullGrid = 8, kLeastPart = 2 * kBlock;
#endif
/// Bytes of one part's sum at most: kFullGrid of them have place in a device's library workspace.
inline constexpr int64_t kPartBytes = 32;

/// Whether the threads of a kernel's blocks wait for each other.
enum class Barriers : uint8_t { kNone, kSome };

#ifndef CPU_ONLY
/// Reports a failed launch; defined beside the CUDA backend's error handling.
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
