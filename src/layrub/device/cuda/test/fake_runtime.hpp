#ifndef LAYRUB_DEVICE_CUDA_TEST_FAKE_RUNTIME_HPP_
#define LAYRUB_DEVICE_CUDA_TEST_FAKE_RUNTIME_HPP_

#include <cuda_runtime.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

/// The part of the CUDA runtime that this project calls, in RAM: linked in libcudart's place, it
/// runs the backend's logic on any machine. Device and pinned memory are RAM. A stream is a queue
/// whose work is done while some call is being made, as far as its waits allow and as early or late
/// as the test likes: what the backend forgets to order happens in the wrong order. Thread safe;
/// work runs under one lock.
///
/// Whole programs run on it, too (libcaffe on a fake GPU, docs/gpu.md). The environment variable
/// LAYRUB_FAKE_GPU then says what the GPU is like, by words with commas between them: devices=2,
/// mib=512 (of each device), pace=early, late or random, seed=3, protect, by which memory of
/// devices is out of the process's reach but while work is done, idle, by which nothing is computed
/// (Options::idle), and fail=17, which makes the 17th call of CUDA or of its libraries, or piece of
/// work, fail. A process that breaks a rule ends.
namespace layrub::fake_cuda {

/// When queued work is done.
enum class Pace {
  kEarly,  ///< at once, unless its stream has to wait for another
  kLate,   ///< when somebody waits for it
  kRandom  ///< drawn from a seed, some streams early and others late
};

struct Options {
  int devices = 1;
  int64_t device_bytes = int64_t{64} << 20;  ///< of each device
  int64_t pinned_bytes = int64_t{64} << 20;
  int64_t context_bytes = int64_t{5} << 20;  ///< what the first use of a device takes of it
  int64_t others_bytes = 0;                  ///< what other processes have of each device
  /// What the driver has of each device, which only NVML counts, or what a divided GPU has besides.
  int64_t outside_bytes = 0;
  std::string others_end = {};  ///< the call by whose first time other processes have ended
  int compute_capability = 8;
  Pace pace = Pace::kLate;
  uint32_t seed = 0;
  bool protect = false;  ///< memory of devices is out of reach but while work is done
  /// Kernels and what libraries compute take no time and have no effect: what is left is the time
  /// of the host.
  bool idle = false;
  /// What is broken ends the process. Otherwise it is kept for Violations.
  bool strict = false;
  bool keep_calls = true;  ///< for Calls
  /// What a call returns instead of doing its work: anything but cudaSuccess. "work": a copy, fill,
  /// host function or kernel that fails on its stream, which calls later on report, as CUDA does.
  std::function<cudaError_t(const std::string& call)> fail = {};
  /// Called with its name before a call is made, outside of all locks: it may wait or make calls.
  std::function<void(const std::string& call)> before = {};
  int64_t nccl_bytes = int64_t{3} << 20;  ///< what NCCL takes of each device of a group
  /// Members of NCCL's groups connect when they exchange something first, for which all have to
  /// come.
  bool members_connect = false;
  /// Waits of streams, for events and for the host, counted from 0, that are left out.
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

/// What has been made and not given back.
struct Alive {
  int device_memory = 0, pinned_memory = 0, streams = 0, events = 0, graphs = 0;
  bool operator==(const Alive&) const = default;
};

/// What LAYRUB_FAKE_GPU asks for; the defaults where it is not set. Ends the process if a word is
/// not understood.
Options OptionsOfEnvironment();

/// Forgets everything; the next calls are those of a new process. At first, OptionsOfEnvironment.
void Reset(Options options = {});
/// Queues `kernel` on `stream`; null: the default stream of the calling thread's device. It may
/// touch memory, and call nothing of CUDA. cudaGetLastError tells of an error, as after a launch.
void Launch(std::function<void()> kernel, cudaStream_t stream = nullptr);
/// `bytes` of the device are gone that nobody has asked for by a call.
void LoadLibraries(int64_t bytes);
/// Since the last Reset or ForgetCalls.
std::vector<Call> Calls();
void ForgetCalls();
Alive WhatIsAlive();
/// What a program on a GPU would have broken or been refused, a sentence each.
std::vector<std::string> Violations();
void ForgetViolations();

}  // namespace layrub::fake_cuda

#endif  // LAYRUB_DEVICE_CUDA_TEST_FAKE_RUNTIME_HPP_
