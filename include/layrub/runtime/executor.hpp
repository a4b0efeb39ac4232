#ifndef LAYRUB_RUNTIME_EXECUTOR_HPP_
#define LAYRUB_RUNTIME_EXECUTOR_HPP_

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "layrub/device/backend.hpp"
#include "layrub/device/transient.hpp"
#include "layrub/placement/cost/timeline.hpp"
#include "layrub/placement/ir/graph.hpp"
#include "layrub/placement/ir/plan.hpp"

namespace layrub {

/// Runs operations for the executor. Implemented by their owner (a net and its solver).
class OpRunner {
 public:
  virtual ~OpRunner() = default;
  /// Runs the operation of `step`, in the variant and by the algorithm of `step`, on the compute
  /// lane. Every tensor that the variant reads or writes has an address (Executor::Address);
  /// nothing else may be touched. Fill operations are not passed on. A Feed queues its copies on
  /// the load lane.
  virtual void Run(const Step& step) = 0;
  /// Run may put an operation off, to run it together with the next one. Finish must then run it.
  /// It is called before copies, waits, fills and feeds (and before allocations and frees where
  /// they are poisoned), after each step that a Wait names, and at the end of the pass.
  virtual void Finish() {}
};

struct ExecutorOptions {
  bool record = false;  ///< keep a Timeline of each iteration; no operation is put off then
  /// Test mode: the arena is filled with NaN at the start, and so is each freed range (after all
  /// lanes are idle), so that reading a value that is gone shows.
  bool poison = false;
  /// Test mode: the arena is filled with a canary at the start, so that TouchedBytes can find the
  /// highest byte ever written.
  bool canary = false;
  /// The memory for the plan's device bytes above those of the state tensors. Null: the executor
  /// allocates its own. If others share it, each forward pass takes it over from them. Its backend
  /// must be the executor's.
  std::shared_ptr<TransientMemory> transient = {};
};

/// Runs a Plan on a Backend. Owns the memory of state tensors, host memory and the file for its
/// lifetime, and the other device memory unless it is shared. Allocates nothing while it runs. Not
/// thread safe.
class Executor {
 public:
  /// Allocates the memory of all tiers. Throws std::bad_alloc when the backend does not have
  /// enough.
  Executor(const Graph& graph, const Plan& plan, Backend* backend, ExecutorOptions options = {});
  ~Executor();
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;

  /// Runs the steps of one pass. kForward may follow any pass: it forgets what the previous
  /// iteration left, except state. kBackward must follow kForward. kUpdate may follow any pass. If
  /// state is at home off the device, kUpdate forgets what kForward does, unless it follows
  /// kBackward. When Run returns, the operations of the pass are done (on a GPU: queued), but
  /// copies may still run. After the last pass of the plan all lanes are idle.
  void Run(Pass pass, OpRunner* runner);

  /// Returns the device address of `tensor`, or nullptr if it is not resident or only in part.
  /// State at home on the device always has one.
  void* Address(TensorId tensor) const;
  /// Returns where operations use `tensor`: the address on the device, or that of its home in host
  /// memory if it has no range of the device and they can do that (Tensor::host_access).
  void* AddressInUse(TensorId tensor) const;
  /// Waits until the copies of `tensor` are done and returns where its value can be read: on the
  /// device if it is resident, else in host memory or the file if that holds all of it, else
  /// nullptr. A value in the file is read into memory; that copy replaces its range of the file
  /// until the next forward pass, or until the plan frees or writes the range. Call it outside Run,
  /// or from OpRunner::Run for tensors that the current operation does not touch.
  const void* Find(TensorId tensor);
  /// Whether a value written at the address from Find takes effect. Within Run it does not for
  /// state that has a valid copy on the device as well as in its home elsewhere, or whose home is
  /// in the file.
  bool MayWrite(TensorId tensor) const;
  /// Announces that the caller writes the value of `tensor`, at the address that Find returned,
  /// before the next pass. That pass uses the new value: if the value is on the device and also has
  /// a copy elsewhere, the pass copies it there again when it begins. Does nothing within Run.
  void NoteWrite(TensorId tensor);
  /// Sets the value of `tensor`, state that is at home off the device, to that at `value`, or to
  /// zeros if that is null. Call it before the first Run.
  void SetHome(TensorId tensor, const void* value);
  /// Makes what is queued on the compute lane from now on wait for the last copy to the device
  /// range of `tensor`. Other copies go on. May be called within Run.
  void AwaitLoad(TensorId tensor);
  /// Whether the last thing that ran was a whole forward pass, whose values are still there.
  bool ready_for_backward() const;
  /// True while Run is active.
  bool running() const;
  /// The step being run, or kNone.
  int32_t current_step() const;

  const Graph& graph() const;
  const Plan& plan() const;
  Backend* backend() const;

  /// Recorded spans of the last iteration (options.record).
  const Timeline& timeline() const;
  /// With options.canary: one more than the highest of the plan's offsets that no longer holds the
  /// canary. Above the state tensors, bytes that others have written to shared memory count, too.
  int64_t TouchedBytes() const;
  /// With options.poison: whether every byte was left alone while no range had it: each range still
  /// held the poison when it was allocated, and what is not allocated holds it now. Waits until all
  /// lanes are idle.
  bool SentinelsIntact() const;
  /// Bytes copied since construction in each direction. Prefetched bytes include feeds.
  int64_t bytes_offloaded() const;
  int64_t bytes_prefetched() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace layrub

#endif  // LAYRUB_RUNTIME_EXECUTOR_HPP_
