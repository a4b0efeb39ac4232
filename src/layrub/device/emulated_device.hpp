#ifndef LAYRUB_DEVICE_EMULATED_DEVICE_HPP_
#define LAYRUB_DEVICE_EMULATED_DEVICE_HPP_

#include <atomic>
#include <cstdint>
#include <limits>
#include <map>
#include <mutex>
#include <string>

#include "layrub/device/device.hpp"

namespace layrub {

/// See MakeEmulatedDevice. The same memory is mapped twice: at the device's addresses, which are
/// accessible during kernels only, and at alias addresses, through which copies reach it at any
/// time.
class EmulatedDevice final : public Device {
 public:
  /// Throws std::system_error when the system cannot reserve the addresses.
  EmulatedDevice(int64_t bytes, int64_t context_bytes, int64_t library_bytes = 0);
  ~EmulatedDevice() override;
  EmulatedDevice(const EmulatedDevice&) = delete;
  EmulatedDevice& operator=(const EmulatedDevice&) = delete;

  void* Allocate(int64_t bytes) override;
  void Free(void* memory) override;
  void Zero(void* memory, int64_t bytes) override;
  void* AllocateHost(int64_t bytes) override;
  void FreeHost(void* memory) override;
  void Copy(void* to, const void* from, int64_t bytes) override;
  void QueueCopyToHost(void* to, const void* from, int64_t bytes) override;
  void CopyConcurrently(void* to, const void* from, int64_t bytes) override {
    Copy(to, from, bytes);
  }
  void Synchronize() override {}
  bool LaunchesKernels() const override { return false; }
  void BeginKernel() override;
  void EndKernel() override;
  int64_t total_bytes() const override { return bytes_; }
  int64_t free_bytes() const override;
  DeviceUsage Usage() override;
  void AddExpectedLibraryBytes(int64_t bytes) override { library_bytes_ += bytes; }
  int64_t library_workspace_bytes() const override { return kAlignment; }
  int id() const override { return 0; }
  std::string Describe() const override { return "emulated device"; }
  std::unique_ptr<Backend> MakeBackend(const std::string& spill_file) override;
  Pool& pool() override { return pool_; }
  Pool& host_pool() override { return host_pool_; }

  /// Returns the address at which the process may always access the device's byte at `memory`.
  /// Returns an address outside the device unchanged.
  void* Alias(void* memory) const;
  const void* Alias(const void* memory) const;

  /// For tests: makes the `n`-th call of Allocate from now on return nullptr. The next call is
  /// number 1.
  void FailAllocation(int64_t n) { until_failure_ = n; }
  /// Whether the call chosen by FailAllocation has been made.
  bool has_failed() const { return until_failure_ <= 0; }

  /// How many times Copy has copied from the device to the host, for which a host would wait.
  int64_t host_reads() const { return host_reads_; }

 private:
  /// Maps the device's addresses below `end`. Not all are mapped at once, because the time to open
  /// and close them for each kernel grows with their number, and most of a large device is never
  /// allocated.
  void Reach(int64_t end);

  const int64_t bytes_;
  int file_ = -1;
  char* device_ = nullptr;
  char* alias_ = nullptr;
  mutable std::mutex mutex_;
  std::map<int64_t, int64_t> free_, used_;  ///< ranges: offset, bytes
  int64_t allocated_ = 0;                   ///< the context included
  const int64_t context_bytes_;
  std::atomic<int64_t> library_bytes_;  ///< that libraries are expected to take
  int64_t peak_ = 0;
  int64_t reach_ = 0;  ///< addresses below it are mapped, those above only reserved
  std::atomic<int64_t> host_reads_ = 0;
  std::atomic<int64_t> until_failure_ = std::numeric_limits<int64_t>::max();
  int kernels_ = 0;  ///< that are running
  Pool pool_{this};
  Pool host_pool_;
};

}  // namespace layrub

#endif  // LAYRUB_DEVICE_EMULATED_DEVICE_HPP_
