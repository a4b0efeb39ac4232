#include "layrub/device/arena.hpp"

#include <algorithm>
#include <new>
#include <string>

#include "layrub/device/device.hpp"

namespace layrub {
namespace {

constexpr int64_t kStagingBytes = 32 << 10;

/// Returns byte `offset` of the pattern. It consists of 32-bit words 0x7FFxxxxx, which are NaN as a
/// float and as the upper half of a double.
char PatternByte(int64_t offset) {
  uint32_t word = static_cast<uint32_t>(offset / 4) * 2654435761u;
  word = 0x7FF00000u | (word >> 12) | 1u;
  return static_cast<char>(word >> (8 * (offset % 4)));
}

/// Its what() names the memory that is short and the flag that helps.
class OutOfMemory final : public std::bad_alloc {
 public:
  OutOfMemory(const Backend& backend, Tier tier, int64_t bytes)
      : text_(Text(backend, tier, bytes)) {}
  const char* what() const noexcept override { return text_.c_str(); }

 private:
  static std::string Text(const Backend& backend, Tier tier, int64_t bytes) {
    const Device* const device = backend.device();
    const std::string count = std::to_string(bytes) + " bytes of ";
    if (tier == Tier::kHost) {
      return count + (device ? "pinned host memory" : "host memory") +
             " cannot be allocated: set a limit with --host_memory, and give a file for the rest "
             "with --spill_file";
    }
    if (tier == Tier::kFile)
      return count + "a file cannot be allocated: name it, or its folder, with --spill_file";
    return count + "device memory cannot be allocated on " + backend.Describe() +
           (device ? ", which has " + std::to_string(device->free_bytes()) + " left" : "") +
           ": give a smaller --device_memory, or end other programs that use its memory";
  }

  const std::string text_;
};

}  // namespace

Arena::Arena(Backend* backend, Tier tier, int64_t bytes, bool patterned)
    : backend_(backend),
      tier_(tier),
      bytes_(bytes),
      memory_(static_cast<char*>(backend->Allocate(tier, bytes))) {
  if (memory_ == nullptr) throw OutOfMemory(*backend, tier, bytes);
  if (!patterned) return;
  staging_.resize(kStagingBytes);
  Restore(0, bytes_);
}

Arena::~Arena() { backend_->Free(tier_, memory_); }

void Arena::Restore(int64_t begin, int64_t end) {
  backend_->Synchronize();
  for (int64_t at = begin; at < end; at += kStagingBytes) {
    const int64_t count = std::min(kStagingBytes, end - at);
    for (int64_t i = 0; i < count; ++i) staging_[i] = PatternByte(at + i);
    // Writes to the device on the lane of prefetches from host memory.
    const Lane lane = tier_ == Tier::kDevice ? PrefetchLane(Tier::kHost) : OffloadLane(tier_);
    backend_->Copy(lane, memory_ + at, staging_.data(), count);
    backend_->Synchronize();
  }
}

int64_t Arena::EndOfChanges(int64_t begin, int64_t end) const {
  backend_->Synchronize();
  for (int64_t stop = end; stop > begin;) {
    const int64_t start = std::max(begin, stop - kStagingBytes);
    const Lane lane = tier_ == Tier::kDevice ? OffloadLane(Tier::kHost) : PrefetchLane(tier_);
    backend_->Copy(lane, staging_.data(), memory_ + start, stop - start);
    backend_->Synchronize();
    for (; stop > start; --stop) {
      if (staging_[stop - 1 - start] != PatternByte(stop - 1)) return stop;
    }
  }
  return begin;
}

}  // namespace layrub
