#ifndef CAFFE_UTIL_HOST_FEED_HPP_
#define CAFFE_UTIL_HOST_FEED_HPP_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

namespace caffe {

class SyncedMemory;

/// The values that a source's next forward will bring to its tops, as far as they are known.
struct NextFeed {
  struct Values {
    const void* memory;  ///< pinned, of the host; stays as it is until that forward has fed them
    size_t bytes;
  };
  /// Of these values; no others of the source have it. 0: they are not known yet.
  uint64_t number = 0;
  std::vector<Values> tops;
};

/// Brings values of the host to their planned places beside what computes: what a forward of a
/// source (MemoryTraits::fed) has under a plan for a device. Calls return at once, copies are done
/// in their order; those of a pass are done before the next pass of its kind begins.
class HostFeed {
 public:
  virtual ~HostFeed() = default;
  /// Queues a copy of `bytes` from `from`, pinned memory of the host that must stay as it is until
  /// the copy is done. False: `to` has no planned place for so many bytes, and nothing happens.
  virtual bool Copy(SyncedMemory* to, const void* from, size_t bytes) = 0;
  /// What is copied from now on are the values of the NextFeed with this number, which may be on
  /// the device already. 0: of none.
  virtual void Tell(uint64_t number) = 0;
  /// Queues a call of `done`, by another thread, when all that was queued before is copied. It may
  /// not touch blobs or devices.
  virtual void Then(std::function<void()> done) = 0;
};

}  // namespace caffe

#endif  // CAFFE_UTIL_HOST_FEED_HPP_
