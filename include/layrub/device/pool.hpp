#ifndef LAYRUB_DEVICE_POOL_HPP_
#define LAYRUB_DEVICE_POOL_HPP_

#include <cstdint>
#include <map>
#include <mutex>
#include <unordered_map>

namespace layrub {

/// Where a Pool gets its blocks.
class MemorySource {
 public:
  virtual ~MemorySource() = default;
  /// Allocates Aligned(bytes) bytes at a multiple of kAlignment, contents undefined. Returns
  /// nullptr if there is not enough memory.
  virtual void* Allocate(int64_t bytes) = 0;
  /// Frees memory from Allocate.
  virtual void Free(void* memory) = 0;
  virtual void Zero(void* memory, int64_t bytes) = 0;
};

/// Memory for everything outside a plan: blobs of nets that run unplanned, copies of values that a
/// user asked for. A best-fit cache over aligned allocations. Thread safe.
class Pool {
 public:
  /// A pool of RAM.
  Pool();
  /// `source` must outlive the pool.
  explicit Pool(MemorySource* source);
  ~Pool();
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  /// Returns zero-filled memory of at least `bytes` (aligned to kAlignment), or nullptr if there is
  /// not enough. Zero bytes give a valid unique pointer.
  void* Allocate(int64_t bytes);
  void Free(void* memory);
  /// Gives cached blocks back to the system.
  void Trim();

  /// Bytes in use now, and the most in use since the last ResetPeak. Cached blocks do not count.
  int64_t used() const;
  int64_t peak() const;
  void ResetPeak();

  /// The one pool of CPU-side blobs.
  static Pool& Cpu();

 private:
  void FreeCached();

  MemorySource* const source_;
  mutable std::mutex mutex_;
  std::multimap<int64_t, void*> cached_;
  std::unordered_map<void*, int64_t> sizes_;
  int64_t used_ = 0;
  int64_t peak_ = 0;
};

}  // namespace layrub

#endif  // LAYRUB_DEVICE_POOL_HPP_
