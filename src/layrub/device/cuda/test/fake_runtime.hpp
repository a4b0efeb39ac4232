#ifndef LAYRUB_DEVICE_CUDA_TEST_FAKE_RUNTIME_HPP_
#define LAYRUB_DEVICE_CUDA_TEST_FAKE_RUNTIME_HPP_

#include <cuda_runtime.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

/// A fake of the part of the CUDA runtime that this project calls. Linked in place of libcudart, it
/// runs the backend's logic on any machine. Device and pinned memory are RAM. A stream is a queue.
/// Its work is done during some call, as early or as late as the test chooses and the stream's
/// waits allow, so work that the backend forgets to order happens in the wrong order. Thread safe;
/// work runs under one lock.
///
/// Whole programs run on it, too (libcaffe on a fake GPU, docs/gpu.md). The environment variable
/// LAYRUB_FAKE_GPU then describes the GPU by words separated by commas: devices=2, mib=512 (of each
/// device), pace=early, late or random, seed=3, protect (device memory is accessible only while
/// work is done), idle (nothing is computed, see Options::idle), and fail=17 (the 17th call of CUDA
/// or of its libraries, or piece of work, fails). A process that breaks a rule of CUDA is aborted.
namespace layrub::fake_cuda {

/// When queued work is done.
enum class Pace {
  kEarly,  ///< at once, unless its stream waits for another
  kLate,   ///< when something waits for it
  kRandom  ///< drawn from a seed, some streams early and others late
};

struct Options {
  int devices = 1;
  int64_t device_bytes = int64_t{64} << 20;  ///< of each device
  int64_t pinned_bytes = int64_t{64} << 20;
  int64_t context_bytes = int64_t{5} << 20;  ///< that the first use of a device takes
  int64_t others_bytes = 0;                  ///< that other processes use of each device
  /// Bytes that only NVML counts: of the driver on each device, or of the other parts of a divided
  /// GPU.
  int64_t outside_bytes = 0;
  std::string others_end = {};  ///< at the first such call, other processes have ended
  int compute_capability = 8;
  Pace pace = Pace::kLate;
  uint32_t seed = 0;
  bool protect = false;  ///< device memory is accessible only while work is done
  /// Kernels and library functions take no time and have no effect, so only the host's time is
  /// left.
  bool idle = false;
  /// A violation aborts the process. Otherwise it is kept for Violations.
  bool strict = false;
  bool keep_calls = true;  ///< for Calls
  /// If the result is not cudaSuccess, the call returns it instead of doing its work. "work" is a
  /// copy, fill, host function or kernel that fails on its stream; later calls report that, as in
  /// CUDA.
  std::function<cudaError_t(const std::string& call)> fail = {};
  /// Called with a call's name before the call, outside of all locks. It may wait or make calls.
  std::function<void(const std::string& call)> before = {};
  int64_t nccl_bytes = int64_t{3} << 20;  ///< that NCCL takes of each device of a group
  /// Members of an NCCL group connect at their first exchange, where each waits for all others.
  bool members_connect = false;
  /// Whether to leave out a wait of a stream, for an event or for the host. Waits count from 0.
  std::function<bool(int)> drop_wait = {};
  /// Whether the driver has cuStreamWaitValue32.
  bool streams_wait_for_host = true;
};

/// A call that was made, by its name in CUDA's API; "kernel": Launch.
struct Call {
  std::string name;
  int64_t bytes = 0;      ///< of allocations, copies, fills
  bool pageable = false;  ///< an asynchronous copy with host memory that is not pinned
};

/// How many resources have been made and not released.
struct Alive {
  int device_memory = 0, pinned_memory = 0, streams = 0, events = 0, graphs = 0;
  bool operator==(const Alive&) const = default;
};

/// Returns the options in LAYRUB_FAKE_GPU, or the defaults if it is not set. Ends the process if a
/// word is unknown.
Options OptionsOfEnvironment();

/// Forgets everything, as if the process were new. Before the first Reset, OptionsOfEnvironment
/// apply.
void Reset(Options options = {});
/// Queues `kernel` on `stream`; null: the default stream of the calling thread's device. It may
/// access memory, but must not call CUDA. cudaGetLastError reports an error, as after a real
/// launch.
void Launch(std::function<void()> kernel, cudaStream_t stream = nullptr);
/// Takes `bytes` of the device without a call of the API, as a library that is loaded does.
void LoadLibraries(int64_t bytes);
/// Since the last Reset or ForgetCalls.
std::vector<Call> Calls();
void ForgetCalls();
Alive WhatIsAlive();
/// Returns what a real GPU would have refused or punished, one sentence each.
std::vector<std::string> Violations();
void ForgetViolations();

}  // namespace layrub::fake_cuda

#endif  // LAYRUB_DEVICE_CUDA_TEST_FAKE_RUNTIME_HPP_
