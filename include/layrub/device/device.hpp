#ifndef LAYRUB_DEVICE_DEVICE_HPP_
#define LAYRUB_DEVICE_DEVICE_HPP_

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>

#include "layrub/device/backend.hpp"
#include "layrub/device/pool.hpp"

namespace layrub {

/// What is in use of a device's memory, as its driver says. Drivers do not tell processes apart:
/// what other processes take or free after this one has opened the device counts as this one's.
struct DeviceUsage {
  /// In use before this process opened the device. NVML tells this; without it, this is 0 and the
  /// bytes count as context_bytes.
  int64_t others_bytes = 0;
  int64_t context_bytes = 0;  ///< taken when this process opened the device
  /// Taken since then, beyond what Allocate has handed out: code and buffers of libraries, and the
  /// rounding of allocations.
  int64_t library_bytes = 0;
  int64_t peak_bytes = 0;  ///< the most seen in use at once, without others_bytes
  /// What libraries are likely to take in the end. They take it when they are first used. Includes
  /// what Device::AddExpectedLibraryBytes has added.
  int64_t expected_library_bytes = 0;

  /// The bytes that a budget for all of this process's device memory must leave to the context and
  /// the libraries.
  int64_t overhead_bytes() const {
    return context_bytes + std::max(library_bytes, expected_library_bytes);
  }
};

/// Work that was captured (Device::BeginCapture). It can be run any number of times.
class CapturedWork {
 public:
  virtual ~CapturedWork() = default;
  /// Queues all of it on the compute stream of its device.
  virtual void Queue() = 0;
};

/// A processor with its own memory: a GPU, or RAM that plays one (MakeEmulatedDevice). Work runs in
/// the order in which it is queued, on one compute stream. Calls that queue work return at once. A
/// device must outlive its backends and all memory that it has given out. Thread safe.
class Device : public MemorySource {
 public:
  // Allocate, Free and Zero of MemorySource act on device memory. Allocate returns nullptr when
  // there is no more; Free may wait for the device; Zero queues its work.

  /// Allocates host memory that the device copies from and to at full speed. It must be freed with
  /// FreeHost. Returns nullptr when there is no more.
  virtual void* AllocateHost(int64_t bytes) = 0;
  virtual void FreeHost(void* memory) = 0;

  /// Copies after all queued work. Each side is host or device memory. Returns when the bytes are
  /// there if one side is host memory; only queues the copy if both are device memory.
  virtual void Copy(void* to, const void* from, int64_t bytes) = 0;
  /// Queues a copy from device memory to memory from AllocateHost. The bytes are there once
  /// Synchronize has returned.
  virtual void QueueCopyToHost(void* to, const void* from, int64_t bytes) = 0;
  /// As Copy, on a stream beside the compute stream. Waits only for earlier copies that the calling
  /// thread has made in this way. Returns when the bytes are there.
  virtual void CopyConcurrently(void* to, const void* from, int64_t bytes) = 0;
  /// Returns when all work queued on the compute stream is done.
  virtual void Synchronize() = 0;

  /// True: kernels are launched on stream(). False: they are loops that the calling thread runs
  /// between BeginKernel and EndKernel.
  virtual bool LaunchesKernels() const = 0;
  /// The stream for the calling thread's kernels (a cudaStream_t; null is CUDA's default stream):
  /// the compute stream, or one that is being captured.
  virtual void* stream() const { return nullptr; }
  /// Begins a capture: until EndCapture, what the calling thread queues on the compute stream is
  /// recorded instead of run. Meanwhile the thread must neither wait for the device nor allocate or
  /// free its memory. Returns false if the device cannot capture.
  virtual bool BeginCapture() { return false; }
  /// Returns the captured work, or null if it cannot be captured. Nothing of it has run.
  virtual std::unique_ptr<CapturedWork> EndCapture() { return nullptr; }
  virtual void BeginKernel() {}
  virtual void EndKernel() {}

  virtual int64_t total_bytes() const = 0;
  virtual int64_t free_bytes() const = 0;
  /// Looks at the memory and returns its use now. Each Allocate looks at it, too.
  virtual DeviceUsage Usage() = 0;
  /// Adds `bytes`, which may be negative, to what libraries are expected to take.
  virtual void AddExpectedLibraryBytes(int64_t bytes) = 0;
  /// Bytes of workspace that each caller of the libraries on this device should give them.
  virtual int64_t library_workspace_bytes() const = 0;
  /// Makes this the device of the calling thread's own CUDA calls.
  virtual void MakeCurrent() {}
  /// Its number among devices of its kind.
  virtual int id() const = 0;
  /// Describes the device to people, in lines of text. The first line is Name().
  virtual std::string Describe() const = 0;
  std::string Name() const {
    const std::string lines = Describe();
    return lines.substr(0, lines.find('\n'));
  }

  /// Makes a backend that runs plans on this device. `spill_file`: see MakeCpuBackend.
  virtual std::unique_ptr<Backend> MakeBackend(const std::string& spill_file) = 0;

  /// The memory of unplanned blobs on the device, and host memory for copies to and from it.
  virtual Pool& pool() = 0;
  virtual Pool& host_pool() = 0;
};

/// Whether the library was built with a backend for GPUs.
bool HasGpuBackend();
/// The number of usable GPUs; 0 in a build without a GPU backend.
int GpuCount();
/// Returns GPU `id` of [0, GpuCount()). It is made at the first call and never destroyed.
Device& Gpu(int id);
/// Why GpuCount() is 0.
std::string NoGpuReason();

/// Makes a device of `bytes` out of RAM. Its memory has addresses of its own, which only copies
/// and, between BeginKernel and EndKernel, kernels may touch; any other access is a segmentation
/// fault. The memory is taken from the system as it is touched. `context_bytes` of it are in use
/// from the beginning; libraries are expected to take `library_bytes`.
std::unique_ptr<Device> MakeEmulatedDevice(int64_t bytes = int64_t{16} << 30,
                                           int64_t context_bytes = 0, int64_t library_bytes = 0);

}  // namespace layrub

#endif  // LAYRUB_DEVICE_DEVICE_HPP_
