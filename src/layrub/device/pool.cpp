#include "layrub/device/pool.hpp"

#include <malloc.h>
#include <pthread.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <new>
#include <stdexcept>

#include "layrub/device/aligned_memory.hpp"

namespace layrub {
namespace {

// A cached block serves a request if at most 1 / kWasteShare of the request is wasted.
constexpr int64_t kWasteShare = 8;

class Ram final : public MemorySource {
 public:
  void* Allocate(int64_t bytes) override { return AllocateAligned(bytes); }
  // The C library may keep freed memory that lies between blocks in use, so the pages are discarded
  // first.
  void Free(void* memory) override {
    DiscardPages(memory, static_cast<int64_t>(malloc_usable_size(memory)));
    std::free(memory);
  }
  void Zero(void* memory, int64_t bytes) override {
    std::memset(memory, 0, static_cast<size_t>(bytes));
  }
};

MemorySource* RamSource() {
  static Ram* const ram = new Ram;  // never destroyed, like Pool::Cpu
  return ram;
}

}  // namespace

Pool::Pool() : Pool(RamSource()) {}

Pool::Pool(MemorySource* source) : source_(source) {}

Pool::~Pool() {
  Trim();
  for (const auto& [memory, bytes] : sizes_) source_->Free(memory);
}

void Pool::FreeCached() {
  for (const auto& block : cached_) source_->Free(block.second);
  cached_.clear();
}

void* Pool::Allocate(int64_t bytes) {
  if (bytes < 0 || bytes > std::numeric_limits<int64_t>::max() - kAlignment) return nullptr;
  int64_t size = Aligned(std::max<int64_t>(bytes, 1));
  void* memory = nullptr;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    const auto fit = cached_.lower_bound(size);
    if (fit != cached_.end() && fit->first - size <= size / kWasteShare) {
      size = fit->first;
      memory = fit->second;
      cached_.erase(fit);
    } else {
      memory = source_->Allocate(size);
      if (memory == nullptr && !cached_.empty()) {
        FreeCached();
        memory = source_->Allocate(size);
      }
      if (memory == nullptr) return nullptr;
    }
    sizes_[memory] = size;
    used_ += size;
    peak_ = std::max(peak_, used_);
  }
  source_->Zero(memory, size);
  return memory;
}

void Pool::Free(void* memory) {
  if (memory == nullptr) return;
  std::lock_guard<std::mutex> lock(mutex_);
  const auto found = sizes_.find(memory);
  if (found == sizes_.end()) throw std::invalid_argument("Pool::Free: memory of another owner");
  const int64_t size = found->second;
  used_ -= size;
  sizes_.erase(found);
  try {
    cached_.emplace(size, memory);
  } catch (const std::bad_alloc&) {  // called in destructors, so it must not throw
    source_->Free(memory);
  }
}

void Pool::Trim() {
  std::lock_guard<std::mutex> lock(mutex_);
  FreeCached();
}

int64_t Pool::used() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return used_;
}

int64_t Pool::peak() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return peak_;
}

void Pool::ResetPeak() {
  std::lock_guard<std::mutex> lock(mutex_);
  peak_ = used_;
}

Pool& Pool::Cpu() {
  // Never destroyed: blobs with static storage may free memory at any time.
  static Pool* const pool = [] {
    // A thread that reads ahead may hold the lock while another one forks. Nobody would ever unlock
    // it in the child, so it is held during the fork.
    pthread_atfork([] { Cpu().mutex_.lock(); }, [] { Cpu().mutex_.unlock(); },
                   [] { Cpu().mutex_.unlock(); });
    return new Pool;
  }();
  return *pool;
}

namespace {

// Made before there are threads, so that none is making it while another one forks.
[[maybe_unused]] const Pool& made_early = Pool::Cpu();

}  // namespace

}  // namespace layrub
