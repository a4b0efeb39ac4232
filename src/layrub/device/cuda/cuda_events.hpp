#ifndef LAYRUB_DEVICE_CUDA_CUDA_EVENTS_HPP_
#define LAYRUB_DEVICE_CUDA_CUDA_EVENTS_HPP_

#include <cuda_runtime.h>

#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

namespace layrub {

/// A CUDA event that ends with its owner.
class CudaEvent {
 public:
  CudaEvent();
  ~CudaEvent();
  CudaEvent(const CudaEvent&) = delete;
  CudaEvent& operator=(const CudaEvent&) = delete;
  cudaEvent_t get() const { return event_; }

 private:
  cudaEvent_t event_ = nullptr;
};

/// An event whose time on the host's clock is known: those of other events are counted from it.
struct TimeOrigin {
  CudaEvent event;
  double seconds = 0;
};

/// The events of one stream, by tickets that count up from 1. After a while of work they are used
/// again, so that nothing is allocated in an iteration like those before.
class CudaEvents {
 public:
  /// Records the next event on `stream`.
  uint64_t Record(cudaStream_t stream, const std::shared_ptr<TimeOrigin>& origin);
  /// Lets `stream` wait for the event `ticket`.
  void Wait(cudaStream_t stream, uint64_t ticket) const;
  /// All events up to now have happened: those up to the previous call may be used again.
  void AllHappened();
  /// When `ticket` happened; NaN if it is not known any more. It must have happened.
  double SecondsOf(uint64_t ticket) const;

 private:
  struct Entry {
    std::unique_ptr<CudaEvent> event;
    std::shared_ptr<TimeOrigin> origin;
  };
  const Entry* Find(uint64_t ticket) const;

  std::deque<Entry> entries_;  ///< the last one has ticket last_
  uint64_t last_ = 0;
  uint64_t happened_ = 0;  ///< tickets up to it had happened at the last call of AllHappened
  uint64_t reusable_ = 0;  ///< and at the one before
};

}  // namespace layrub

#endif  // LAYRUB_DEVICE_CUDA_CUDA_EVENTS_HPP_
