#ifndef LAYRUB_DEVICE_CUDA_STREAM_CALLS_HPP_
#define LAYRUB_DEVICE_CUDA_STREAM_CALLS_HPP_

#include <cuda.h>
#include <cuda_runtime.h>

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>

#include "layrub/base/per_process.hpp"
#include "layrub/device/copy_lane.hpp"
#include "layrub/device/cuda/cuda_device.hpp"
#include "layrub/device/first_error.hpp"

// Functions of the host that are queued on a stream. The stream waits until they return. They must
// not call CUDA. One thread at a time queues them.

namespace layrub {

/// Queues calls by cudaLaunchHostFunc. CUDA makes them one at a time in a thread of its own. The
/// streams must be idle, or have failed, when this is destroyed.
class HostFunctions {
 public:
  /// `error` is told what functions throw.
  explicit HostFunctions(FirstError* error) : error_(error) {}
  HostFunctions(const HostFunctions&) = delete;
  HostFunctions& operator=(const HostFunctions&) = delete;

  void Call(cudaStream_t stream, std::function<void()> function);

 private:
  struct Queued {
    std::function<void()> function;
    FirstError* error = nullptr;
    std::atomic<bool> done{false};
  };
  static void CUDART_CB Run(void* queued);

  FirstError* const error_;
  std::deque<Queued> queued_;  ///< roughly in order; a stream that has failed leaves some undone
};

/// Makes the calls of one stream in a thread of their own, so that calls of several streams run at
/// the same time. A host function tells the thread that the stream has come to a call. The thread
/// makes the call and then counts it in pinned memory, and the stream waits for that count
/// (cuStreamWaitValue32). The thread never calls CUDA, where it could wait for a thread that waits
/// for this stream. If the driver has no such wait, the calls are made as host functions, and the
/// log says so. The stream must be idle, or have failed, when this is destroyed.
class StreamThread {
 public:
  /// `error` is told what functions throw.
  StreamThread(CudaDevice* device, cudaStream_t stream, FirstError* error);
  ~StreamThread();
  StreamThread(const StreamThread&) = delete;
  StreamThread& operator=(const StreamThread&) = delete;

  void Call(std::function<void()> function);

 private:
  CUresult WaitFor(uint32_t number) const;

  CudaDevice* const device_;
  const cudaStream_t stream_;
  FirstError* const error_;
  decltype(&cuStreamWaitValue32) wait_ = nullptr;  ///< null: calls are host functions
  HostFunctions host_functions_;
  uint32_t* done_ = nullptr;     ///< pinned: the number of the last call that has returned
  uint32_t queued_ = 0;          ///< the number of the last call queued; both numbers wrap around
  PerProcess<CopyLane> thread_;  ///< last: it uses all of the above
};

}  // namespace layrub

#endif  // LAYRUB_DEVICE_CUDA_STREAM_CALLS_HPP_
