#ifndef LAYRUB_DEVICE_BACKEND_HPP_
#define LAYRUB_DEVICE_BACKEND_HPP_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "layrub/placement/cost/machine.hpp"
#include "layrub/placement/ir/plan.hpp"

namespace layrub {

class Device;

/// A point on a lane. It happens when everything queued on `lane` before it was recorded is done.
struct Event {
  Lane lane = Lane::kCompute;
  uint64_t ticket = 0;
};

/// A device with its own memory, host memory, perhaps a spill file, and lanes. This interface
/// separates plans from hardware. The CPU backend uses a range of RAM as the device and real
/// threads as copy lanes, so that data races are real without a GPU.
///
/// Threads: the calling thread drives the compute lane (on a CPU it *is* the compute lane). One
/// thread at a time may call a Backend. Copies and waits return at once (but see Wait); Synchronize
/// waits for all lanes.
///
/// Errors: if a copy or a call on a lane's thread throws, each wait of the compute lane for that
/// lane throws the same exception, and so does Synchronize. A wait throws at once if the host waits
/// in it; otherwise the next Synchronize throws. After that, nothing more is copied, and the
/// backend may only be destroyed.
class Backend {
 public:
  virtual ~Backend() = default;

  /// Allocates `bytes` of `tier`, aligned to kAlignment, contents undefined. Returns nullptr if
  /// there is not enough. Counts in Allocated. An address of the file tier must not be
  /// dereferenced: it only stands for a byte that Copy reads and writes.
  virtual void* Allocate(Tier tier, int64_t bytes) = 0;
  /// Frees memory from Allocate. Ignores nullptr.
  virtual void Free(Tier tier, void* memory) = 0;

  /// Queues a copy on OffloadLane or PrefetchLane of a tier, or on kCompute (within the device; the
  /// two ranges may overlap). On the copy lanes, other memory of the process may replace the device
  /// memory; on kSave and kLoad, either side may be such memory.
  virtual void Copy(Lane lane, void* to, const void* from, int64_t bytes) = 0;
  /// Queues a call of `function` on kSave or kLoad. Some thread makes the call when everything
  /// queued on the lane before is done. It must not call the backend or its device.
  virtual void Call(Lane lane, std::function<void()> function) = 0;
  /// Queues zeroing device memory on the compute lane.
  virtual void Zero(void* device, int64_t bytes) = 0;

  /// Returns the point after everything that has been queued on `lane`.
  virtual Event Record(Lane lane) = 0;
  /// Makes `lane` wait until `event` has happened. On the CPU's compute lane this blocks the
  /// caller.
  virtual void Wait(Lane lane, const Event& event) = 0;
  /// Returns when all lanes are idle.
  virtual void Synchronize() = 0;

  /// Returns when `event` happened, in seconds on a monotonic clock. Requires that it has happened.
  /// Used by the recorder.
  virtual double SecondsOf(const Event& event) = 0;

  /// A profiler shows what the calling thread queues until EndRange as `name`. Ranges may be
  /// nested. Does nothing if no profiler listens.
  virtual void BeginRange(const char* /*name*/) {}
  virtual void EndRange() {}

  /// Says that the contents of `bytes` of device memory are no longer needed; the memory stays the
  /// caller's. If the device tier is RAM of the process, whole pages go back to the system until
  /// they are written again. Otherwise nothing happens (a CUDA allocation can only be freed as a
  /// whole).
  virtual void Discard(void* /*device*/, int64_t /*bytes*/) {}

  /// Bytes of `tier` that are allocated now.
  virtual int64_t Allocated(Tier tier) const = 0;
  /// One line for logs: "cpu, 2 threads".
  virtual std::string Describe() const = 0;
  /// The device whose memory is the device tier. Null: the device tier is RAM that the process may
  /// touch.
  virtual Device* device() const { return nullptr; }
};

/// Makes a backend with RAM as the device and a thread for each copy lane. It has a file tier if
/// `spill_file` names a folder, or a file that does not exist yet. Each allocation of that tier is
/// a file of the size asked for, whose name is removed as soon as it is open. Errors of the file
/// are failures (failure.hpp) whose message names it.
std::unique_ptr<Backend> MakeCpuBackend(const std::string& spill_file = "");

}  // namespace layrub

#endif  // LAYRUB_DEVICE_BACKEND_HPP_
