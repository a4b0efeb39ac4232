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

/// What the executor asks of the one who owns the operations (a net and its solver).
class OpRunner {
 public:
  virtual ~OpRunner() = default;
  /// Runs operation `op` as `step` says (form, scratch variant) on the compute lane. Every tensor
  /// that the form reads or writes has an address (Executor::Address); nothing else may be touched.
  /// Fill operations are not passed on. A Feed queues its copies on the load lane.
  virtual void Run(const Step& step) = 0;
  /// Run may put work off until the next operation, to do both at once. This does what was put off:
  /// it is called before anything but operations, allocations and aliases, before allocations too
  /// where they are poisoned, and at the pass's end.
  virtual void Finish() {}
};

struct ExecutorOptions {
  bool record = false;  ///< keep a Timeline of each iteration; no operation is put off then
  /// Test mode: freed ranges are filled with NaN (after all lanes are idle) and so is the arena at
  /// the start, so that reading what is gone shows.
  bool poison = false;
  /// Test mode: fill the arena with a canary at the start so that TouchedBytes can find the highest
  /// byte ever written.
  bool canary = false;
  /// Where the plan's device bytes above those of the state tensors are: null for memory of
  /// the executor's own. Shared with others, each forward pass takes it over from them. Its backend
  /// must be the executor's.
  std::shared_ptr<TransientMemory> transient = {};
};

/// Interprets a Plan on a Backend. Owns the bytes of state tensors, of host memory and of the file
/// for its life, and the other device bytes unless they are shared; allocates nothing while it
/// runs. Not thread safe.
class Executor {
 public:
  /// Allocates the memory of all tiers. Throws std::bad_alloc when the backend has not enough
  /// memory.
  Executor(const Graph& graph, const Plan& plan, Backend* backend, ExecutorOptions options = {});
  ~Executor();
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;

  /// Runs the steps of one pass. kForward forgets what the previous iteration left (state
  /// excepted), so a forward may follow a forward; kBackward must follow kForward; kUpdate
  /// may follow anything, and, where state is at home off the device, forgets the same unless it
  /// follows kBackward. When it returns the compute lane is done; copies may still run, all lanes
  /// are idle after the last pass of the plan.
  void Run(Pass pass, OpRunner* runner);

  /// Device address of `tensor`, or nullptr when it is not resident, or in part only. State at home
  /// on the device always has one.
  void* Address(TensorId tensor) const;
  /// Waits until `tensor`'s copies are done and returns where its value can be read: on the device
  /// if resident, else in host memory or the file if that holds all of it, else nullptr. What is in
  /// the file is read into memory, which takes the place of its range until the next forward pass
  /// or until the plan gives up or writes the range. Call outside Run, or from OpRunner::Run for
  /// what the operation at work does not touch.
  const void* Find(TensorId tensor);
  /// Whether what is written at the address that Find returns will count. Not within Run, of state
  /// that has a valid copy on the device as well as in its home elsewhere, or whose home is in the
  /// file.
  bool MayWrite(TensorId tensor) const;
  /// Announces that the caller writes the value of `tensor`, at the address that Find returned,
  /// before the next pass. That pass uses the new value: if the value is on the device and also has
  /// a copy elsewhere, the pass makes the copy again when it begins. Does nothing within
  /// Run.
  void NoteWrite(TensorId tensor);
  /// Gives `tensor`, state that is at home off the device, the value at `value`, or zeros where
  /// that is null. Before the first Run.
  void SetHome(TensorId tensor, const void* value);
  /// What is queued on the compute lane from now on comes after the last copy to `tensor`'s device
  /// range. Copies to others go on. Within Run, too.
  void AwaitLoad(TensorId tensor);
  /// A whole forward pass was the last thing that ran, and what it left is still there.
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
  /// With options.canary: one more than the highest of the plan's offsets that no longer hold the
  /// canary; bytes above the state tensors that others have written count too.
  int64_t TouchedBytes() const;
  /// With options.poison: every byte outside the ranges of its time was left alone: each range
  /// still held the poison when it was allocated, and so does now what is not allocated. Waits
  /// until all lanes are idle.
  bool SentinelsIntact() const;
  /// Bytes copied since construction, of each direction; prefetched: what was fed included.
  int64_t bytes_offloaded() const;
  int64_t bytes_prefetched() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace layrub

#endif  // LAYRUB_RUNTIME_EXECUTOR_HPP_
