#ifndef CAFFE_PENDING_READS_HPP_
#define CAFFE_PENDING_READS_HPP_

#include <cstddef>
#include <functional>
#include <vector>

#include "caffe/device_context.hpp"

namespace caffe {

/// What the host wants to know of a pass, losses and whether labels are classes, when all of the
/// pass is queued: values of a device are copied where they are made, and looked at in the end, so
/// that the host waits for the device once.
///
/// One thread at a time.
class PendingReads {
 public:
  PendingReads() = default;
  /// Drops what was not looked at.
  ~PendingReads();
  PendingReads(const PendingReads&) = delete;
  PendingReads& operator=(const PendingReads&) = delete;

  /// Copies `bytes` from `source`, memory of `context`'s device, after what is queued there, for
  /// `look` to see in Look(). Where `context` has no device, `look` is called at once.
  void Add(const DeviceContext& context, const void* source, size_t bytes,
           std::function<void(const void*)> look);
  /// Waits for the devices, and lets all look, in the order in which they were added. Throws what
  /// the first one throws; nothing is pending any more.
  void Look();

 private:
  struct Read {
    layrub::Device* device;
    void* copy;  ///< of its host_pool
    std::function<void(const void*)> look;
  };
  static void Wait(const std::vector<Read>& reads);
  static void Free(const std::vector<Read>& reads);

  std::vector<Read> reads_;
};

/// The loss of what `run` queues: called with a PendingReads and where to add it as that looks.
template <typename Dtype, typename Run>
Dtype LossOf(const Run& run) {
  PendingReads reads;
  Dtype loss = 0;
  run(&reads, &loss);
  reads.Look();
  return loss;
}

}  // namespace caffe

#endif  // CAFFE_PENDING_READS_HPP_
