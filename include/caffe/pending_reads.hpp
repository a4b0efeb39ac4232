#ifndef CAFFE_PENDING_READS_HPP_
#define CAFFE_PENDING_READS_HPP_

#include <cstddef>
#include <functional>
#include <vector>

#include "caffe/device_context.hpp"

namespace caffe {

/// Collects the values of a pass that the host needs, such as losses and whether labels are valid
/// classes. Each value is copied when it is computed, and the host looks at all of them after the
/// whole pass is queued, so that it waits for the device only once.
///
/// To be used by one thread at a time.
class PendingReads {
 public:
  PendingReads() = default;
  /// Drops the reads that were not looked at.
  ~PendingReads();
  PendingReads(const PendingReads&) = delete;
  PendingReads& operator=(const PendingReads&) = delete;

  /// Copies `bytes` from `source`, memory of `context`'s device, after all work queued there.
  /// Look() passes the copy to `look`. If `context` has no device, calls `look` at once.
  void Add(const DeviceContext& context, const void* source, size_t bytes,
           std::function<void(const void*)> look);
  /// Waits for the devices and calls each `look`, in the order of Add. Rethrows the first
  /// exception. Nothing is pending afterwards.
  void Look();

 private:
  struct Read {
    layrub::Device* device;
    void* copy;  ///< from the device's host_pool
    std::function<void(const void*)> look;
  };
  static void Wait(const std::vector<Read>& reads);
  static void Free(const std::vector<Read>& reads);

  std::vector<Read> reads_;
};

/// Returns the loss of a pass. `run(reads, loss)` queues the pass; the loss is added to `*loss`
/// when `reads` are looked at.
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
