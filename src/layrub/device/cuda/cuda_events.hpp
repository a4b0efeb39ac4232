#ifndef LAYRUB_DEVICE_CUDA_CUDA_EVENTS_HPP_
#define LAYRUB_DEVICE_CUDA_CUDA_EVENTS_HPP_

#include <cuda_runtime.h>

#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

namespace layrub {

/// A CUDA event, destroyed with this object.
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

/// An event whose time on the host's clock is known. The times of other events are measured from
/// it.
struct TimeOrigin {
  CudaEvent event;
  double seconds = 0;
};

/// The events of one stream, numbered by tickets from 1. Old events are reused, so an iteration
/// like the ones before allocates nothing.
class CudaEvents {
 public:
  /// Records the next event on `stream`.
  uint64_t Record(cudaStream_t stream, const std::shared_ptr<TimeOrigin>& origin);
  /// Makes `stream` wait for the event `ticket`.
  void Wait(cudaStream_t stream, uint64_t ticket) const;
  /// Says that all events recorded so far have happened. Events from before the previous call may
  /// be reused.
  void AllHappened();
  /// Returns when `ticket` happened, or NaN if its event has been reused. It must have happened.
  double SecondsOf(uint64_t ticket) const;

 private:
  struct Entry {
    std::unique_ptr<CudaEvent> event;
    std::shared_ptr<TimeOrigin> origin;
  };
  const Entry* Find(uint64_t ticket) const;

  std::deque<Entry> entries_;  ///< the last one has ticket last_
  uint64_t last_ = 0;
  uint64_t happened_ = 0;  ///< the last ticket at the last call of AllHappened
  uint64_t reusable_ = 0;  ///< the last ticket at the call before that
};

}  // namespace layrub

#endif  // LAYRUB_DEVICE_CUDA_CUDA_EVENTS_HPP_
