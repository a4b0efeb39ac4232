#include "layrub/device/cpu_backend.hpp"

#include <array>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <stdexcept>
#include <thread>
#include <unordered_map>

#include "layrub/base/of_process.hpp"
#include "layrub/device/aligned_memory.hpp"
#include "layrub/device/copy_lane.hpp"
#include "layrub/device/emulated_device.hpp"
#include "layrub/device/ram_tier.hpp"
#include "layrub/device/spill_file.hpp"

namespace layrub {
namespace {

/// The memory of an emulated device.
class DeviceTier final : public HostTier {
 public:
  explicit DeviceTier(EmulatedDevice* device) : device_(device) {}
  void* Allocate(int64_t bytes) override { return device_->Allocate(bytes); }
  void Free(void* memory) override { device_->Free(memory); }
  void Copy(void* to, const void* from, int64_t bytes) override { device_->Copy(to, from, bytes); }
  bool IsMemory() const override { return false; }

 private:
  EmulatedDevice* const device_;
};

class CpuBackend final : public Backend {
 public:
  /// `emulated`: whose memory the device tier is; null: RAM.
  CpuBackend(std::unique_ptr<HostTier> host, EmulatedDevice* emulated)
      : host_(std::move(host)), emulated_(emulated) {
    if (emulated) {
      device_ = std::make_unique<DeviceTier>(emulated);
    } else {
      device_ = std::make_unique<RamTier>();
    }
  }
  // A lane may wait for the other one, so both are idle before either is taken down.
  ~CpuBackend() override {
    if (save_.here()) AwaitLanes();
  }

  void* Allocate(Tier tier, int64_t bytes) override {
    void* memory = TierOf(tier).Allocate(bytes);
    if (memory == nullptr) return nullptr;
    sizes_[memory] = Aligned(bytes);
    allocated_[Index(tier)] += Aligned(bytes);
    return memory;
  }

  void Free(Tier tier, void* memory) override {
    if (memory == nullptr) return;
    const auto found = sizes_.find(memory);
    if (found == sizes_.end()) throw std::invalid_argument("CpuBackend::Free: not allocated here");
    allocated_[Index(tier)] -= found->second;
    sizes_.erase(found);
    TierOf(tier).Free(memory);
  }

  bool HostIsMemory() const override { return host_->IsMemory(); }

  void Copy(Lane lane, void* to, const void* from, int64_t bytes) override {
    if (lane != Lane::kCompute) return CopyLaneOf(lane).Copy(to, from, bytes);
    if (bytes > 0) std::memmove(Reachable(to), Reachable(from), static_cast<size_t>(bytes));
  }

  void Call(Lane lane, std::function<void()> function) override {
    CopyLaneOf(lane).Call(std::move(function));
  }

  void Zero(void* device, int64_t bytes) override {
    if (bytes > 0) std::memset(Reachable(device), 0, static_cast<size_t>(bytes));
  }

  void Discard(void* device, int64_t bytes) override {
    if (emulated_ == nullptr) DiscardPages(device, bytes);
  }

  Event Record(Lane lane) override {
    if (lane != Lane::kCompute) return {lane, CopyLaneOf(lane).Record()};
    compute_times_.Set(++compute_ticket_, Now());
    return {lane, compute_ticket_};
  }

  void Wait(Lane lane, const Event& event) override {
    // What the calling thread did before now has happened, and a lane keeps its own order.
    if (event.lane == Lane::kCompute || event.lane == lane) return;
    const CopyLane& other = CopyLaneOf(event.lane);
    if (lane == Lane::kCompute) {
      other.Await(event.ticket);
      Rethrow();
    } else {
      CopyLaneOf(lane).Wait(&other, event.ticket);
    }
  }

  void Synchronize() override {
    AwaitLanes();
    Rethrow();
  }

  double SecondsOf(const Event& event) override {
    if (event.lane != Lane::kCompute) return CopyLaneOf(event.lane).SecondsOf(event.ticket);
    const bool known =
        event.ticket <= compute_ticket_ && compute_ticket_ - event.ticket < TicketTimes::kKept;
    return known ? compute_times_.At(event.ticket) : std::numeric_limits<double>::quiet_NaN();
  }

  int64_t Allocated(Tier tier) const override { return allocated_[Index(tier)]; }

  std::string Describe() const override {
    return (emulated_ ? "emulated device, cpu, " : "cpu, ") +
           std::to_string(std::thread::hardware_concurrency()) + " threads";
  }

  Device* device() const override { return emulated_; }

 private:
  void AwaitLanes() {
    for (const OfProcess<CopyLane>* lane : {&save_, &load_}) {
      if (!lane->copy().idle()) (*lane)->Finish();
    }
  }

  /// What one lane could not do the other one may have gone on with.
  void Rethrow() const {
    save_.copy().Rethrow();
    load_.copy().Rethrow();
  }

  HostTier& TierOf(Tier tier) { return tier == Tier::kHost ? *host_ : *device_; }

  CopyLane& CopyLaneOf(Lane lane) {
    if (lane == Lane::kCompute)
      throw std::invalid_argument("CpuBackend: the compute lane does not call");
    return lane == Lane::kSave ? *save_ : *load_;
  }

  template <typename Memory>
  Memory* Reachable(Memory* memory) const {
    return emulated_ ? emulated_->Alias(memory) : memory;
  }

  std::unique_ptr<HostTier> device_;
  const std::unique_ptr<HostTier> host_;
  EmulatedDevice* const emulated_;
  std::unordered_map<void*, int64_t> sizes_;
  std::array<int64_t, 2> allocated_{};
  uint64_t compute_ticket_ = 0;
  TicketTimes compute_times_;
  const CopyLane::Copier copier_ = [this](void* to, const void* from, int64_t bytes) {
    host_->Copy(Reachable(to), Reachable(from), bytes);
  };
  OfProcess<CopyLane> save_{copier_};
  OfProcess<CopyLane> load_{copier_};
};

}  // namespace

std::unique_ptr<Backend> MakeEmulatedBackend(EmulatedDevice* device,
                                             const std::string& spill_file) {
  std::unique_ptr<HostTier> host = std::make_unique<RamTier>();
  if (!spill_file.empty()) host = std::make_unique<SpillFile>(spill_file);
  return std::make_unique<CpuBackend>(std::move(host), device);
}

std::unique_ptr<Backend> MakeCpuBackend(const std::string& spill_file) {
  return MakeEmulatedBackend(nullptr, spill_file);
}

}  // namespace layrub
