#include "layrub/device/emulated_device.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <system_error>

#include "layrub/device/aligned_memory.hpp"
#include "layrub/device/cpu_backend.hpp"

namespace layrub {
namespace {

constexpr int kReadAndWrite = PROT_READ | PROT_WRITE;
constexpr int64_t kReachStep = 2 << 20;

/// Maps `bytes` of the file from `offset` on, or only reserves addresses if `file` is -1. Replaces
/// the mapping at `at`, or chooses the address if `at` is null.
char* Map(void* at, int64_t bytes, int protection, int file, int64_t offset = 0) {
  const int flags = (file < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED) |
                    (at == nullptr ? 0 : MAP_FIXED) | MAP_NORESERVE;
  void* const mapped = mmap(at, static_cast<size_t>(bytes), protection, flags, file, offset);
  if (mapped == MAP_FAILED) throw std::system_error(errno, std::generic_category(), "mmap");
  return static_cast<char*>(mapped);
}

}  // namespace

EmulatedDevice::EmulatedDevice(int64_t bytes, int64_t context_bytes, int64_t library_bytes)
    : bytes_(Aligned(bytes)), context_bytes_(context_bytes), library_bytes_(library_bytes) {
  if (context_bytes > bytes)
    throw std::invalid_argument("EmulatedDevice: the context is larger than the device");
  file_ = memfd_create("emulated-device", MFD_CLOEXEC);
  if (file_ < 0 || ftruncate(file_, bytes_) != 0) {
    throw std::system_error(errno, std::generic_category(), "memfd_create");
  }
  device_ = Map(nullptr, bytes_, PROT_NONE, -1);
  alias_ = Map(nullptr, bytes_, kReadAndWrite, file_);
  free_[0] = bytes_;
  if (context_bytes > 0) Allocate(context_bytes);
}

EmulatedDevice::~EmulatedDevice() {
  pool_.Trim();
  munmap(device_, static_cast<size_t>(bytes_));
  munmap(alias_, static_cast<size_t>(bytes_));
  close(file_);
}

void* EmulatedDevice::Allocate(int64_t bytes) {
  if (bytes < 0 || bytes > bytes_ || --until_failure_ == 0) return nullptr;
  const int64_t size = Aligned(std::max<int64_t>(bytes, 1));
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto fits = [size](const auto& range) { return range.second >= size; };
  const auto range = std::find_if(free_.begin(), free_.end(), fits);
  if (range == free_.end()) return nullptr;
  const auto [offset, room] = *range;
  free_.erase(range);
  if (room > size) free_[offset + size] = room - size;
  used_[offset] = size;
  allocated_ += size;
  peak_ = std::max(peak_, allocated_);
  Reach(offset + size);
  return device_ + offset;
}

void EmulatedDevice::Reach(int64_t end) {
  if (end <= reach_) return;
  const int64_t reach = std::min(bytes_, (end + kReachStep - 1) / kReachStep * kReachStep);
  Map(device_ + reach_, reach - reach_, kernels_ > 0 ? kReadAndWrite : PROT_NONE, file_, reach_);
  reach_ = reach;
}

void EmulatedDevice::Free(void* memory) {
  if (memory == nullptr) return;
  const std::lock_guard<std::mutex> lock(mutex_);
  const int64_t offset = static_cast<char*>(memory) - device_;
  const auto range = used_.find(offset);
  if (range == used_.end()) throw std::invalid_argument("EmulatedDevice::Free: not allocated here");
  int64_t begin = offset, end = offset + range->second;
  allocated_ -= range->second;
  used_.erase(range);
  auto next = free_.lower_bound(begin);
  if (next != free_.end() && next->first == end) {
    end += next->second;
    next = free_.erase(next);
  }
  if (next != free_.begin()) {
    const auto before = std::prev(next);
    if (before->first + before->second == begin) {
      begin = before->first;
      free_.erase(before);
    }
  }
  free_[begin] = end - begin;
}

void* EmulatedDevice::Alias(void* memory) const {
  char* const at = static_cast<char*>(memory);
  const bool here = at >= device_ && at < device_ + bytes_;
  return here ? alias_ + (at - device_) : at;
}

const void* EmulatedDevice::Alias(const void* memory) const {
  return Alias(const_cast<void*>(memory));
}

void EmulatedDevice::Zero(void* memory, int64_t bytes) {
  std::memset(Alias(memory), 0, static_cast<size_t>(bytes));
}

void* EmulatedDevice::AllocateHost(int64_t bytes) { return AllocateAligned(bytes); }

void EmulatedDevice::FreeHost(void* memory) { std::free(memory); }

void EmulatedDevice::Copy(void* to, const void* from, int64_t bytes) {
  if (to == from) return;
  if (Alias(to) == to && Alias(from) != from) ++host_reads_;
  std::memmove(Alias(to), Alias(from), static_cast<size_t>(bytes));
}

void EmulatedDevice::QueueCopyToHost(void* to, const void* from, int64_t bytes) {
  std::memcpy(to, Alias(from), static_cast<size_t>(bytes));
}

void EmulatedDevice::BeginKernel() {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (kernels_++ == 0) mprotect(device_, static_cast<size_t>(reach_), kReadAndWrite);
}

void EmulatedDevice::EndKernel() {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (--kernels_ == 0) mprotect(device_, static_cast<size_t>(reach_), PROT_NONE);
}

int64_t EmulatedDevice::free_bytes() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return bytes_ - allocated_;
}

DeviceUsage EmulatedDevice::Usage() {
  const std::lock_guard<std::mutex> lock(mutex_);
  return {0, context_bytes_, 0, peak_, library_bytes_};
}

std::unique_ptr<Backend> EmulatedDevice::MakeBackend(const std::string& spill_file) {
  return MakeEmulatedBackend(this, spill_file);
}

std::unique_ptr<Device> MakeEmulatedDevice(int64_t bytes, int64_t context_bytes,
                                           int64_t library_bytes) {
  return std::make_unique<EmulatedDevice>(bytes, context_bytes, library_bytes);
}

}  // namespace layrub
