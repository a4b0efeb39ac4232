#ifndef CAFFE_UTIL_HOST_FEED_HPP_
#define CAFFE_UTIL_HOST_FEED_HPP_

#include <cstddef>
#include <functional>

namespace caffe {

class SyncedMemory;

/// Brings values of the host to their planned places beside what computes: what a forward of a
/// source (MemoryTraits::fed) has under a plan for a device. Calls return at once, copies are done
/// in their order; those of a pass are done before the next pass of its kind begins.
class HostFeed {
 public:
  virtual ~HostFeed() = default;
  /// Queues a copy of `bytes` from `from`, pinned memory of the host that must stay as it is until
  /// the copy is done. False: `to` has no planned place for so many bytes, and nothing happens.
  virtual bool Copy(SyncedMemory* to, const void* from, size_t bytes) = 0;
  /// Queues a call of `done`, by another thread, when all that was queued before is copied. It may
  /// not touch blobs or devices.
  virtual void Then(std::function<void()> done) = 0;
};

}  // namespace caffe

#endif  // CAFFE_UTIL_HOST_FEED_HPP_
