#ifndef LAYRUB_DEVICE_CUDA_STREAM_CALLS_HPP_
#define LAYRUB_DEVICE_CUDA_STREAM_CALLS_HPP_

#include <cuda.h>
#include <cuda_runtime.h>

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>

#include "layrub/base/of_process.hpp"
#include "layrub/device/copy_lane.hpp"
#include "layrub/device/cuda/cuda_device.hpp"
#include "layrub/device/first_error.hpp"

// Functions of the host that a stream calls when it has come so far, and waits for. They may call
// nothing of CUDA's. One thread at a time queues them.

namespace layrub {

/// Calls by CUDA's host functions, which take turns in one thread of CUDA's. The streams must be
/// idle, or have failed, when it ends.
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
  std::deque<Queued> queued_;  ///< about in order; a stream that has failed leaves some undone
};

/// Calls of one stream in a thread of their own, so that those of several streams run at a time. A
/// host function tells the thread that the stream has come to a call; the thread calls, and counts
/// in pinned memory, and the stream waits for the count (cuStreamWaitValue32). The thread calls
/// nothing of CUDA's: it would wait for whoever waits, within CUDA, for this stream. Where the
/// driver cannot do that, the calls are host functions themselves, and the log says so. The stream
/// must be idle, or have failed, when it ends.
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
  decltype(&cuStreamWaitValue32) wait_ = nullptr;  ///< null: host functions call
  HostFunctions host_functions_;
  uint32_t* done_ = nullptr;    ///< pinned: the number of the last call that has returned
  uint32_t queued_ = 0;         ///< and of the last one that was queued; they wrap around
  OfProcess<CopyLane> thread_;  ///< last: it uses all of the above
};

}  // namespace layrub

#endif  // LAYRUB_DEVICE_CUDA_STREAM_CALLS_HPP_
