#include <algorithm>
#include <array>
#include <cstdlib>
#include <functional>
#include <memory>
#include <span>
#include <stdexcept>
#include <unordered_map>

// Ranges for profilers such as Nsight Systems. NVTX is headers only, and its calls do nothing when
// no profiler is attached.
#if __has_include(<nvtx3/nvToolsExt.h>)
#include <nvtx3/nvToolsExt.h>
#define LAYRUB_NVTX
#endif

#include "layrub/device/copy_lane.hpp"
#include "layrub/device/cuda/check.hpp"
#include "layrub/device/cuda/cuda_device.hpp"
#include "layrub/device/cuda/cuda_events.hpp"
#include "layrub/device/cuda/stream_calls.hpp"
#include "layrub/device/first_error.hpp"
#include "layrub/device/spill_file.hpp"

namespace layrub {
namespace {

/// Event times are floats in milliseconds, so the origin must not be too far away.
constexpr double kOriginSeconds = 30;
/// Copies to and from a file go through pinned memory in pieces of this size.
constexpr int64_t kStagingBytes = int64_t{8} << 20;

/// Pinned memory for a lane's copies to or from a file. Each piece is copied into a place on the
/// stream `into`, and out of it on the lane's own stream. There are two places, so one is filled
/// while the other is emptied.
struct Staging {
  struct Place {
    void* memory = nullptr;
    CudaEvent filled, emptied;
  };
  std::array<Place, 2> places;
  size_t next = 0;
  cudaStream_t into = nullptr;
  std::unique_ptr<StreamThread> thread;  ///< writes or reads the file
};

class CudaBackend final : public Backend {
 public:
  CudaBackend(CudaDevice* device, const std::string& spill_file) : device_(device) {
    try {
      Open(spill_file);
    } catch (...) {
      Close();
      throw;
    }
  }

  ~CudaBackend() override { Close(); }

  void* Allocate(Tier tier, int64_t bytes) override {
    void* memory = tier == Tier::kDevice ? device_->Allocate(bytes)
                   : tier == Tier::kHost ? device_->AllocateHost(bytes)
                   : file_               ? file_->Allocate(bytes)
                                         : nullptr;
    if (memory == nullptr) return nullptr;
    sizes_[memory] = Aligned(bytes);
    allocated_[Index(tier)] += Aligned(bytes);
    return memory;
  }

  void Free(Tier tier, void* memory) override {
    if (memory == nullptr) return;
    const auto found = sizes_.find(memory);
    if (found == sizes_.end()) throw std::invalid_argument("CudaBackend::Free: not allocated here");
    allocated_[Index(tier)] -= found->second;
    sizes_.erase(found);
    if (tier == Tier::kDevice) {
      device_->Free(memory);
    } else if (tier == Tier::kHost) {
      device_->FreeHost(memory);
    } else {
      file_->Free(memory);
    }
  }

  void Copy(Lane lane, void* to, const void* from, int64_t bytes) override {
    if (bytes <= 0) return;
    device_->MakeCurrent();
    if (lane == Lane::kCompute) {
      CopyWithin(static_cast<char*>(to), static_cast<const char*>(from), bytes);
    } else if (StagingOf(lane)) {
      CopyStaged(lane, static_cast<char*>(to), static_cast<const char*>(from), bytes);
    } else {
      Queue(StreamOf(lane), to, from, bytes);
    }
  }

  void Call(Lane lane, std::function<void()> function) override {
    if (lane == Lane::kCompute)
      throw std::invalid_argument("CudaBackend: the compute lane does not call");
    device_->MakeCurrent();
    calls_.Call(StreamOf(lane), std::move(function));
  }

  void Zero(void* device, int64_t bytes) override {
    if (bytes > 0) device_->Zero(device, bytes);
  }

  Event Record(Lane lane) override {
    device_->MakeCurrent();
    return {lane, events_[Index(lane)].Record(StreamOf(lane), origin_)};
  }

  void Wait(Lane lane, const Event& event) override {
    if (event.lane == lane) return;
    device_->MakeCurrent();
    const CudaEvents& events = events_[Index(event.lane)];
    events.Wait(StreamOf(lane), event.ticket);
    if (const Staging* const staging = StagingOf(lane)) events.Wait(staging->into, event.ticket);
  }

  void Synchronize() override {
    device_->Synchronize();
    for (const Lane lane : CopyLanes()) LAYRUB_CUDA(cudaStreamSynchronize(StreamOf(lane)));
    for (CudaEvents& events : events_) events.AllHappened();
    if (Now() - origin_->seconds > kOriginSeconds) origin_ = NewOrigin();
    error_.Rethrow();
  }

  double SecondsOf(const Event& event) override {
    return events_[Index(event.lane)].SecondsOf(event.ticket);
  }

#ifdef LAYRUB_NVTX
  void BeginRange(const char* name) override { nvtxRangePushA(name); }
  void EndRange() override { nvtxRangePop(); }
#endif

  int64_t Allocated(Tier tier) const override { return allocated_[Index(tier)]; }

  std::string Describe() const override {
    return "GPU " + std::to_string(device_->id()) + ", " + device_->Name();
  }

  Device* device() const override { return device_; }

 private:
  void Open(const std::string& spill_file) {
    device_->MakeCurrent();
    if (!spill_file.empty()) file_ = std::make_unique<SpillFile>(spill_file);
    for (const Lane lane : CopyLanes())
      LAYRUB_CUDA(cudaStreamCreateWithFlags(&streams_[Index(lane)], cudaStreamNonBlocking));
    if (file_) {
      for (const Lane lane : {Lane::kSpill, Lane::kFetch}) OpenStaging(lane);
    }
    origin_ = NewOrigin();
  }

  void Close() {
    LAYRUB_CUDA_AT_END(cudaStreamSynchronize(StreamOf(Lane::kCompute)));
    for (const Lane lane : CopyLanes()) LAYRUB_CUDA_AT_END(cudaStreamSynchronize(StreamOf(lane)));
    LAYRUB_CUDA_AT_END(cudaStreamSynchronize(nullptr));
    for (const Lane lane : CopyLanes()) {
      if (StreamOf(lane)) cudaStreamDestroy(StreamOf(lane));
      Staging* const staging = StagingOf(lane);
      if (staging == nullptr) continue;
      if (staging->into) {
        LAYRUB_CUDA_AT_END(cudaStreamSynchronize(staging->into));
        cudaStreamDestroy(staging->into);
      }
      staging->thread.reset();
      for (const Staging::Place& place : staging->places) device_->FreeHost(place.memory);
    }
  }

  void OpenStaging(Lane lane) {
    staging_[Index(lane)] = std::make_unique<Staging>();
    Staging* const staging = StagingOf(lane);
    LAYRUB_CUDA(cudaStreamCreateWithFlags(&staging->into, cudaStreamNonBlocking));
    const cudaStream_t of_file = lane == Lane::kFetch ? staging->into : StreamOf(lane);
    staging->thread = std::make_unique<StreamThread>(device_, of_file, &error_);
    for (Staging::Place& place : staging->places) {
      place.memory = device_->AllocateHost(kStagingBytes);
      if (place.memory != nullptr) continue;
      Fail(std::to_string(kStagingBytes) +
           " bytes of pinned host memory, through which copies to and from the spill file go, "
           "cannot be allocated: end other programs that pin memory.");
    }
  }

  /// The copy lanes of this backend; those of the file only if there is one.
  std::span<const Lane> CopyLanes() const {
    static constexpr std::array kAll{Lane::kSave, Lane::kLoad, Lane::kSpill, Lane::kFetch};
    return std::span(kAll).first(file_ ? kAll.size() : 2);
  }

  cudaStream_t StreamOf(Lane lane) const {
    return lane == Lane::kCompute ? static_cast<cudaStream_t>(device_->stream())
                                  : streams_[Index(lane)];
  }
  /// Null except for the lanes of the file.
  Staging* StagingOf(Lane lane) { return staging_[Index(lane)].get(); }

  static std::shared_ptr<TimeOrigin> NewOrigin() {
    auto origin = std::make_shared<TimeOrigin>();
    LAYRUB_CUDA(cudaEventRecord(origin->event.get(), nullptr));
    LAYRUB_CUDA(cudaEventSynchronize(origin->event.get()));
    origin->seconds = Now();
    return origin;
  }

  static void Queue(cudaStream_t stream, void* to, const void* from, int64_t bytes) {
    LAYRUB_CUDA(cudaMemcpyAsync(to, from, static_cast<size_t>(bytes), cudaMemcpyDefault, stream));
  }

  /// Copies within the device. CUDA does not define a copy between ranges that overlap. So this
  /// copies in pieces no longer than the distance between the ranges, which do not overlap, in an
  /// order in which no piece is overwritten before it has been copied.
  void CopyWithin(char* to, const char* from, int64_t bytes) {
    const int64_t distance = std::abs(to - from);
    if (distance == 0) return;
    for (int64_t done = 0, count = 0; done < bytes; done += count) {
      count = std::min(distance, bytes - done);
      const int64_t at = to < from ? done : bytes - done - count;
      Queue(StreamOf(Lane::kCompute), to + at, from + at, count);
    }
  }

  void CopyStaged(Lane lane, char* to, const char* from, int64_t bytes) {
    Staging& staging = *StagingOf(lane);
    const auto half = [&](cudaStream_t stream, bool of_file, void* target, const void* source,
                          int64_t count) {
      if (!of_file) return Queue(stream, target, source, count);
      staging.thread->Call([this, target, source, count] {
        if (!error_.some()) file_->Copy(target, source, count);
      });
    };
    for (int64_t at = 0; at < bytes; at += kStagingBytes) {
      const int64_t count = std::min(kStagingBytes, bytes - at);
      Staging::Place& place = staging.places[staging.next++ % staging.places.size()];
      LAYRUB_CUDA(cudaStreamWaitEvent(staging.into, place.emptied.get(), 0));
      half(staging.into, lane == Lane::kFetch, place.memory, from + at, count);
      LAYRUB_CUDA(cudaEventRecord(place.filled.get(), staging.into));
      LAYRUB_CUDA(cudaStreamWaitEvent(StreamOf(lane), place.filled.get(), 0));
      half(StreamOf(lane), lane == Lane::kSpill, to + at, place.memory, count);
      LAYRUB_CUDA(cudaEventRecord(place.emptied.get(), StreamOf(lane)));
    }
  }

  CudaDevice* const device_;
  std::unique_ptr<SpillFile> file_;  ///< null if there is no file tier
  FirstError error_;                 ///< of functions that streams have called
  HostFunctions calls_{&error_};
  std::array<cudaStream_t, kLanes> streams_{};            ///< by lane; none for compute
  std::array<std::unique_ptr<Staging>, kLanes> staging_;  ///< by lane
  std::array<CudaEvents, kLanes> events_;                 ///< by lane
  std::shared_ptr<TimeOrigin> origin_;
  std::unordered_map<void*, int64_t> sizes_;
  std::array<int64_t, kTiers> allocated_{};
};

}  // namespace

std::unique_ptr<Backend> MakeCudaBackend(CudaDevice* device, const std::string& spill_file) {
  return std::make_unique<CudaBackend>(device, spill_file);
}

}  // namespace layrub
