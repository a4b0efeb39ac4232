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

/// A point on a lane: everything queued on `lane` before it was recorded.
struct Event {
  Lane lane = Lane::kCompute;
  uint64_t ticket = 0;
};

/// A device with memory of its own, host memory and perhaps a file beside it, and lanes. The
/// seam between plans and hardware: the CPU backend makes the device a range of RAM and the copy
/// lanes real threads, so that races are real without a GPU.
///
/// Threads: the compute lane is driven by the calling thread (on a CPU it *is* the calling thread);
/// one thread at a time may call a Backend. Copies and waits return at once; Synchronize waits for
/// all lanes.
///
/// Errors: what a copy or a call of a lane's thread throws, each wait for that lane on the compute
/// lane throws, and Synchronize: at once where the host waits, at the next Synchronize elsewhere.
/// From then on nothing more is copied; the backend may only be destroyed.
class Backend {
 public:
  virtual ~Backend() = default;

  /// `bytes` of `tier` memory aligned to kAlignment, contents undefined; nullptr when there is
  /// none. Counted. An address of the file only stands for a byte that Copy reads and writes.
  virtual void* Allocate(Tier tier, int64_t bytes) = 0;
  /// Takes back what Allocate gave; nullptr is ignored.
  virtual void Free(Tier tier, void* memory) = 0;

  /// Queues a copy on OffloadLane or PrefetchLane of a tier, or on kCompute (within the device; the
  /// two ranges may overlap). On the copy lanes, memory of the process may take the place of the
  /// device, and on kSave and kLoad of either side.
  virtual void Copy(Lane lane, void* to, const void* from, int64_t bytes) = 0;
  /// Queues a call of `function` on kSave or kLoad: some thread makes it when all that was queued
  /// there before is done. It may not call the backend or its device.
  virtual void Call(Lane lane, std::function<void()> function) = 0;
  /// Queues zeroing device memory on the compute lane.
  virtual void Zero(void* device, int64_t bytes) = 0;

  /// The point after all that has been queued on `lane`.
  virtual Event Record(Lane lane) = 0;
  /// Lets `lane` continue only when `event` has happened. On the CPU's compute lane this blocks the
  /// caller.
  virtual void Wait(Lane lane, const Event& event) = 0;
  /// Returns when all lanes are idle.
  virtual void Synchronize() = 0;

  /// Seconds on a monotonic clock at which `event` happened; requires that it has. For the
  /// recorder.
  virtual double SecondsOf(const Event& event) = 0;

  /// What the calling thread queues until EndRange is shown as `name` by a profiler that listens.
  /// Ranges may lie within each other. Nothing happens where there is no such profiler.
  virtual void BeginRange(const char* /*name*/) {}
  virtual void EndRange() {}

  /// The contents of `bytes` of device memory are of no use any more; the memory stays the
  /// caller's. Where the device tier is RAM of the process, whole pages go back to the system until
  /// they are written again; elsewhere (an allocation of CUDA goes back whole) nothing happens.
  virtual void Discard(void* /*device*/, int64_t /*bytes*/) {}

  /// Bytes handed out now, of each tier.
  virtual int64_t Allocated(Tier tier) const = 0;
  /// One line for logs: "cpu, 2 threads".
  virtual std::string Describe() const = 0;
  /// Whose memory the device tier is; null: it is RAM that the process may touch.
  virtual Device* device() const { return nullptr; }
};

/// RAM as the device, a thread for each copy lane. The file tier is there if `spill_file` names a
/// folder, or a file that does not exist: a file of the size asked for, whose name is gone as soon
/// as it is open. What goes wrong with it is a failure (failure.hpp) that names it.
std::unique_ptr<Backend> MakeCpuBackend(const std::string& spill_file = "");

}  // namespace layrub

#endif  // LAYRUB_DEVICE_BACKEND_HPP_
