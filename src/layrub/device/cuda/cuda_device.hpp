#ifndef LAYRUB_DEVICE_CUDA_CUDA_DEVICE_HPP_
#define LAYRUB_DEVICE_CUDA_CUDA_DEVICE_HPP_

#include <cuda_runtime.h>

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>

#include "layrub/device/device.hpp"

namespace layrub {

/// A stream of the current device. Flags as for cudaStreamCreateWithFlags.
class CudaStream {
 public:
  explicit CudaStream(unsigned int flags);
  ~CudaStream();
  CudaStream(const CudaStream&) = delete;
  CudaStream& operator=(const CudaStream&) = delete;
  cudaStream_t get() const { return stream_; }

 private:
  cudaStream_t stream_ = nullptr;
};

/// A GPU. The compute stream is a blocking stream: by CUDA's rule it and the default stream wait
/// for each other. So kernels of users, which run on the default stream unless told otherwise, keep
/// the order in which they are queued. CopyConcurrently uses a stream that does not wait. Failures
/// of CUDA are fatal, with a message that names the call; running out of memory is not.
class CudaDevice final : public Device {
 public:
  explicit CudaDevice(int id);
  CudaDevice(const CudaDevice&) = delete;
  CudaDevice& operator=(const CudaDevice&) = delete;

  void* Allocate(int64_t bytes) override;
  void Free(void* memory) override;
  void Zero(void* memory, int64_t bytes) override;
  void* AllocateHost(int64_t bytes) override;
  void FreeHost(void* memory) override;
  void Copy(void* to, const void* from, int64_t bytes) override;
  void QueueCopyToHost(void* to, const void* from, int64_t bytes) override;
  void CopyConcurrently(void* to, const void* from, int64_t bytes) override;
  void Synchronize() override;
  bool LaunchesKernels() const override { return true; }
  void* stream() const override;
  bool BeginCapture() override;
  std::unique_ptr<CapturedWork> EndCapture() override;
  void MakeCurrent() override;
  int64_t total_bytes() const override;
  int64_t free_bytes() const override;
  DeviceUsage Usage() override;
  void AddExpectedLibraryBytes(int64_t bytes) override;
  int64_t library_workspace_bytes() const override;
  int id() const override { return id_; }
  std::string Describe() const override;
  std::unique_ptr<Backend> MakeBackend(const std::string& spill_file) override;
  Pool& pool() override { return pool_; }
  Pool& host_pool() override { return host_pool_; }

 private:
  /// Pinned memory of the host.
  class HostSource final : public MemorySource {
   public:
    explicit HostSource(CudaDevice* device) : device_(device) {}
    void* Allocate(int64_t bytes) override { return device_->AllocateHost(bytes); }
    void Free(void* memory) override { device_->FreeHost(memory); }
    void Zero(void* memory, int64_t bytes) override;

   private:
    CudaDevice* const device_;
  };

  int64_t UsedBytes() const;
  void Look();
  std::unique_ptr<CudaStream> TakeIdle();
  void GiveIdle(std::unique_ptr<CudaStream> stream);

  const int id_;
  std::mutex mutex_;  ///< of the four below; also held while memory is allocated and counted
  std::unordered_map<void*, int64_t> sizes_;
  int64_t allocated_ = 0;
  DeviceUsage usage_;
  /// Streams on which nobody captures now. They are kept because libraries know them.
  std::vector<std::unique_ptr<CudaStream>> idle_;
  std::unique_ptr<CudaStream> compute_, beside_;
  HostSource host_source_{this};
  Pool pool_{this};
  Pool host_pool_{&host_source_};
};

/// Makes a backend that runs plans on `device`, with pinned memory as the host tier. For
/// `spill_file` see MakeCpuBackend.
std::unique_ptr<Backend> MakeCudaBackend(CudaDevice* device, const std::string& spill_file);

}  // namespace layrub

#endif  // LAYRUB_DEVICE_CUDA_CUDA_DEVICE_HPP_
