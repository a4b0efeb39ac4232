#include "layrub/device/cpu_backend.hpp"

#include <array>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <stdexcept>
#include <thread>
#include <unordered_map>

#include "layrub/base/per_process.hpp"
#include "layrub/device/aligned_memory.hpp"
#include "layrub/device/copy_lane.hpp"
#include "layrub/device/emulated_device.hpp"
#include "layrub/device/ram_tier.hpp"
#include "layrub/device/spill_file.hpp"

namespace layrub {
namespace {

/// The memory of an emulated device.
class DeviceTier final : public TierMemory {
 public:
  explicit DeviceTier(EmulatedDevice* device) : device_(device) {}
  void* Allocate(int64_t bytes) override { return device_->Allocate(bytes); }
  void Free(void* memory) override { device_->Free(memory); }
  void Copy(void* to, const void* from, int64_t bytes) override { device_->Copy(to, from, bytes); }

 private:
  EmulatedDevice* const device_;
};

class CpuBackend final : public Backend {
 public:
  /// The device tier is the memory of `emulated`, or RAM if that is null. There is no file tier if
  /// `spill_file` is empty.
  CpuBackend(EmulatedDevice* emulated, const std::string& spill_file) : emulated_(emulated) {
    if (emulated) {
      device_ = std::make_unique<DeviceTier>(emulated);
    } else {
      device_ = std::make_unique<RamTier>();
    }
    StartLane(Lane::kSave, ram_.get());
    StartLane(Lane::kLoad, ram_.get());
    if (spill_file.empty()) return;
    file_ = std::make_unique<SpillFile>(spill_file);
    StartLane(Lane::kSpill, file_.get());
    StartLane(Lane::kFetch, file_.get());
  }
  // A lane may wait for another one, so all must be idle before any is destroyed.
  ~CpuBackend() override {
    if (lanes_[Index(Lane::kSave)]->here()) AwaitLanes();
  }

  void* Allocate(Tier tier, int64_t bytes) override {
    TierMemory* const of_tier = TierOf(tier);
    void* memory = of_tier ? of_tier->Allocate(bytes) : nullptr;
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
    TierOf(tier)->Free(memory);
  }

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
    // The compute lane is the calling thread, so its events have already happened. A lane keeps its
    // own order.
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
  using OwnLane = std::unique_ptr<PerProcess<CopyLane>>;

  void StartLane(Lane lane, TierMemory* tier) {
    lanes_[Index(lane)] = std::make_unique<PerProcess<CopyLane>>(
        [this, tier](void* to, const void* from, int64_t bytes) {
          tier->Copy(Reachable(to), Reachable(from), bytes);
        });
  }

  void AwaitLanes() {
    for (const OwnLane& lane : lanes_) {
      if (lane && !lane->copy().idle()) (*lane)->Finish();
    }
  }

  /// Throws the error of any lane: other lanes may have used what the failed one should have
  /// copied.
  void Rethrow() const {
    for (const OwnLane& lane : lanes_) {
      if (lane) lane->copy().Rethrow();
    }
  }

  /// Returns null if there is no such tier.
  TierMemory* TierOf(Tier tier) {
    return tier == Tier::kDevice ? device_.get() : tier == Tier::kHost ? ram_.get() : file_.get();
  }

  CopyLane& CopyLaneOf(Lane lane) {
    const OwnLane& own = lanes_[Index(lane)];
    if (own == nullptr)
      throw std::invalid_argument(std::string("CpuBackend: there are no copies on the lane ") +
                                  Name(lane));
    return **own;
  }

  template <typename Memory>
  Memory* Reachable(Memory* memory) const {
    return emulated_ ? emulated_->Alias(memory) : memory;
  }

  std::unique_ptr<TierMemory> device_;
  const std::unique_ptr<TierMemory> ram_ = std::make_unique<RamTier>();
  std::unique_ptr<TierMemory> file_;  ///< null if there is no file tier
  EmulatedDevice* const emulated_;
  std::unordered_map<void*, int64_t> sizes_;
  std::array<int64_t, kTiers> allocated_{};
  uint64_t compute_ticket_ = 0;
  TicketTimes compute_times_;
  std::array<OwnLane, kLanes> lanes_;  ///< null for the compute lane
};

}  // namespace

std::unique_ptr<Backend> MakeEmulatedBackend(EmulatedDevice* device,
                                             const std::string& spill_file) {
  return std::make_unique<CpuBackend>(device, spill_file);
}

std::unique_ptr<Backend> MakeCpuBackend(const std::string& spill_file) {
  return MakeEmulatedBackend(nullptr, spill_file);
}

}  // namespace layrub
