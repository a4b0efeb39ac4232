#ifndef CAFFE_UTIL_HOST_FEED_HPP_
#define CAFFE_UTIL_HOST_FEED_HPP_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

namespace caffe {

class SyncedMemory;

/// The values that a source's next forward will copy to its tops, as far as they are known.
struct NextFeed {
  struct Values {
    const void* memory;  ///< pinned host memory, unchanged until that forward has fed it
    size_t bytes;
  };
  /// A number that is unique among the values of this source. 0: the values are not known yet.
  uint64_t number = 0;
  std::vector<Values> tops;
};

/// Copies host values to their planned places while operations run. A source's forward
/// (MemoryTraits::fed) has one under a plan for a device. Calls return at once. Copies run in
/// order, and those of a pass end before the next pass of its kind begins.
class HostFeed {
 public:
  virtual ~HostFeed() = default;
  /// Queues a copy of `bytes` from `from`, pinned host memory that must not change until the copy
  /// is done. Returns false, and does nothing, if `to` has no planned place of that size.
  virtual bool Copy(SyncedMemory* to, const void* from, size_t bytes) = 0;
  /// Says that the following copies are values of the NextFeed with this number, which may be on
  /// the device already. 0: of none.
  virtual void Tell(uint64_t number) = 0;
  /// Queues a call of `done` in another thread, after all copies queued so far. `done` must not use
  /// blobs or devices.
  virtual void Then(std::function<void()> done) = 0;
};

}  // namespace caffe

#endif  // CAFFE_UTIL_HOST_FEED_HPP_
