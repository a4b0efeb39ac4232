#include "layrub/device/cuda/cuda_events.hpp"

#include <limits>
#include <utility>

#include "layrub/device/cuda/check.hpp"

namespace layrub {

CudaEvent::CudaEvent() { LAYRUB_CUDA(cudaEventCreate(&event_)); }

// No check: if the driver was shut down before, it has destroyed the event.
CudaEvent::~CudaEvent() { cudaEventDestroy(event_); }

uint64_t CudaEvents::Record(cudaStream_t stream, const std::shared_ptr<TimeOrigin>& origin) {
  Entry entry;
  if (!entries_.empty() && last_ - entries_.size() + 1 <= reusable_) {
    entry = std::move(entries_.front());
    entries_.pop_front();
  } else {
    entry.event = std::make_unique<CudaEvent>();
  }
  entry.origin = origin;
  LAYRUB_CUDA(cudaEventRecord(entry.event->get(), stream));
  entries_.push_back(std::move(entry));
  return ++last_;
}

const CudaEvents::Entry* CudaEvents::Find(uint64_t ticket) const {
  const uint64_t first = last_ - entries_.size() + 1;
  return ticket < first || ticket > last_ ? nullptr : &entries_[ticket - first];
}

void CudaEvents::Wait(cudaStream_t stream, uint64_t ticket) const {
  // An event that is no longer kept has happened.
  if (const Entry* entry = Find(ticket)) {
    LAYRUB_CUDA(cudaStreamWaitEvent(stream, entry->event->get(), 0));
  }
}

void CudaEvents::AllHappened() {
  reusable_ = happened_;
  happened_ = last_;
}

double CudaEvents::SecondsOf(uint64_t ticket) const {
  const Entry* const entry = Find(ticket);
  if (entry == nullptr) return std::numeric_limits<double>::quiet_NaN();
  float milliseconds = 0;
  LAYRUB_CUDA(cudaEventElapsedTime(&milliseconds, entry->origin->event.get(), entry->event->get()));
  return entry->origin->seconds + milliseconds / 1e3;
}

}  // namespace layrub
