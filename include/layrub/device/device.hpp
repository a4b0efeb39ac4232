#ifndef LAYRUB_DEVICE_DEVICE_HPP_
#define LAYRUB_DEVICE_DEVICE_HPP_

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>

#include "layrub/device/backend.hpp"
#include "layrub/device/pool.hpp"

namespace layrub {

/// What is gone of a device's memory, as its driver says. What other processes take or give back
/// after this one has opened the device is taken for this one's, as drivers do not tell them apart.
struct DeviceUsage {
  /// When this process had not opened the device yet. Where nothing tells (NVML does), it is 0, and
  /// the bytes count as the context's.
  int64_t others_bytes = 0;
  int64_t context_bytes = 0;  ///< when this process had just opened the device
  /// Since then, beyond what Allocate has handed out: code and buffers of libraries, and what
  /// allocations are rounded up by.
  int64_t library_bytes = 0;
  int64_t peak_bytes =
      0;  ///< all together but others_bytes, at the fullest moment that was looked at
  /// What libraries are likely to take in the end: they come at their first use. With what
  /// Device::ExpectLibraries has added.
  int64_t expected_library_bytes = 0;

  /// What a budget for all of this process's device memory has to leave to those two.
  int64_t overhead_bytes() const {
    return context_bytes + std::max(library_bytes, expected_library_bytes);
  }
};

/// Work that was captured (Device::BeginCapture), to be done any number of times.
class CapturedWork {
 public:
  virtual ~CapturedWork() = default;
  /// Queues all of it on the compute stream of its device.
  virtual void Queue() = 0;
};

/// A processor with memory of its own: a GPU, or RAM that plays one (MakeEmulatedDevice). Work is
/// done in the order in which it is queued, on one compute stream; calls that queue return at once.
/// It must outlive its backends and all memory that it has given. Thread safe.
class Device : public MemorySource {
 public:
  // Allocate, Free and Zero of MemorySource are about memory of the device: nullptr when there is
  // no more; Free may wait for the device; Zero queues.

  /// Host memory that copies to and from the device at full speed, to be given to FreeHost; nullptr
  /// when there is no more.
  virtual void* AllocateHost(int64_t bytes) = 0;
  virtual void FreeHost(void* memory) = 0;

  /// Copies after all that is queued. Each side is memory of the host or of the device. Returns
  /// when the bytes are there if one of them is the host's; queues if both are the device's.
  virtual void Copy(void* to, const void* from, int64_t bytes) = 0;
  /// Queues a copy of memory of the device to memory of AllocateHost, whose bytes are there when
  /// Synchronize has returned.
  virtual void CopyLater(void* to, const void* from, int64_t bytes) = 0;
  /// As Copy, on a stream beside the compute stream: after what the calling thread has copied in
  /// this way, and after nothing else. Returns when the bytes are there.
  virtual void CopyBeside(void* to, const void* from, int64_t bytes) = 0;
  /// Returns when all that was queued on the compute stream is done.
  virtual void Synchronize() = 0;

  /// True: kernels are launched on stream(). False: they are loops of the calling thread, run
  /// between BeginKernel and EndKernel.
  virtual bool LaunchesKernels() const = 0;
  /// Where the calling thread's kernels go (a cudaStream_t; null is CUDA's default stream): the
  /// compute stream, or one that is being captured.
  virtual void* stream() const { return nullptr; }
  /// What the calling thread queues on the compute stream from now on is not done, but kept for
  /// EndCapture. Until then it may neither wait for the device nor allocate or free its memory.
  /// False: this device cannot do that.
  virtual bool BeginCapture() { return false; }
  /// Null if what was queued cannot be captured; nothing of it has been done.
  virtual std::unique_ptr<CapturedWork> EndCapture() { return nullptr; }
  virtual void BeginKernel() {}
  virtual void EndKernel() {}

  virtual int64_t total_bytes() const = 0;
  virtual int64_t free_bytes() const = 0;
  /// Looks at the memory now; so does each Allocate.
  virtual DeviceUsage Usage() = 0;
  /// Libraries take `bytes` more, or fewer, than was expected of them before.
  virtual void ExpectLibraries(int64_t bytes) = 0;
  /// What the libraries that run on this device want as workspace, of whoever calls them.
  virtual int64_t library_workspace_bytes() const = 0;
  /// The calling thread's own calls of CUDA are about this device from now on.
  virtual void MakeCurrent() {}
  /// Its number among those of its kind.
  virtual int id() const = 0;
  /// Lines of text for people; the first one is Name().
  virtual std::string Describe() const = 0;
  std::string Name() const {
    const std::string lines = Describe();
    return lines.substr(0, lines.find('\n'));
  }

  /// Runs plans on this device; the host tier as MakeCpuBackend says.
  virtual std::unique_ptr<Backend> MakeBackend(const std::string& spill_file) = 0;

  /// What unplanned blobs have on the device, and on the host for copies to and from it.
  virtual Pool& pool() = 0;
  virtual Pool& host_pool() = 0;
};

/// The number of usable GPUs; 0 in a build without a GPU backend.
/// Whether the library was built with a backend for GPUs.
bool HasGpuBackend();
int GpuCount();
/// GPU `id` of [0, GpuCount()). Made at the first call, never destroyed.
Device& Gpu(int id);
/// Why GpuCount() is 0.
std::string WhyNoGpu();

/// RAM that plays a device of `bytes`: with addresses of its own, which only copies and, between
/// BeginKernel and EndKernel, kernels may touch; any other access is a segmentation fault. Memory
/// is taken from the system as it is touched. `context_bytes` of it are gone from the beginning,
/// `library_bytes` are expected to go.
std::unique_ptr<Device> MakeEmulatedDevice(int64_t bytes = int64_t{16} << 30,
                                           int64_t context_bytes = 0, int64_t library_bytes = 0);

}  // namespace layrub

#endif  // LAYRUB_DEVICE_DEVICE_HPP_
