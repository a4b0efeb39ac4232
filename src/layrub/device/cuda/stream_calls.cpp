#include "layrub/device/cuda/stream_calls.hpp"

#include <new>
#include <utility>

#include "layrub/device/cuda/check.hpp"

namespace layrub {
namespace {

using WaitValue = decltype(&cuStreamWaitValue32);

/// Returns the driver's cuStreamWaitValue32 as of CUDA 12, or null if it has none.
WaitValue FindWaitValue() {
  constexpr char kName[] = "cuStreamWaitValue32";
  void* function = nullptr;
  cudaDriverEntryPointQueryResult found;
#if CUDART_VERSION >= 12050
  const cudaError_t error =
      cudaGetDriverEntryPointByVersion(kName, &function, 12000, cudaEnableDefault, &found);
#else
  const cudaError_t error = cudaGetDriverEntryPoint(kName, &function, cudaEnableDefault, &found);
#endif
  if (error == cudaSuccess && found == cudaDriverEntryPointSuccess)
    return reinterpret_cast<WaitValue>(function);
  cudaGetLastError();  // it would be reported by the next check of a kernel
  return nullptr;
}

}  // namespace

void CUDART_CB HostFunctions::Run(void* queued) {
  auto* const call = static_cast<Queued*>(queued);
  call->error->Guard(call->function);
  call->done = true;
}

void HostFunctions::Call(cudaStream_t stream, std::function<void()> function) {
  while (!queued_.empty() && queued_.front().done) queued_.pop_front();
  Queued& call = queued_.emplace_back();
  call.function = std::move(function);
  call.error = error_;
  LAYRUB_CUDA(cudaLaunchHostFunc(stream, Run, &call));
}

StreamThread::StreamThread(CudaDevice* device, cudaStream_t stream, FirstError* error)
    : device_(device), stream_(stream), error_(error), host_functions_(error) {
  wait_ = FindWaitValue();
  if (wait_ != nullptr) {
    void* const count = device->AllocateHost(sizeof(uint32_t));
    if (count == nullptr)
      Fail(
          "Pinned host memory, by which a stream waits for the spill file, cannot be allocated: "
          "end other programs that pin memory.");
    done_ = new (count) uint32_t(0);
    if (WaitFor(0) == CUDA_SUCCESS) return;
    wait_ = nullptr;
  }
  LOG_FIRST_N(WARNING, 1) << "Streams of this GPU cannot wait for threads, so writes to the spill "
                             "file and reads from it take turns.";
}

StreamThread::~StreamThread() {
  if (thread_.here()) thread_->Finish();
  device_->FreeHost(done_);
}

/// Makes the stream wait until call `number` has returned.
CUresult StreamThread::WaitFor(uint32_t number) const {
  // Pinned memory has the same address on both sides.
  return wait_(stream_, reinterpret_cast<CUdeviceptr>(done_), number, CU_STREAM_WAIT_VALUE_GEQ);
}

void StreamThread::Call(std::function<void()> function) {
  if (wait_ == nullptr) return host_functions_.Call(stream_, std::move(function));
  const uint32_t number = ++queued_;
  // Others may wait for the stream, so the call is counted even if it throws.
  const auto count = [this, number] {
    std::atomic_ref<uint32_t>(*done_).store(number, std::memory_order_release);
  };
  auto call = [this, count, function = std::move(function)] {
    error_->Guard(function);
    count();
  };
  host_functions_.Call(stream_, [this, count, call = std::move(call)] {
    try {
      thread_->Call(call);
    } catch (...) {
      count();
      throw;
    }
  });
  if (const CUresult result = WaitFor(number); result != CUDA_SUCCESS)
    Fail(CudaFailure("cuStreamWaitValue32", static_cast<cudaError_t>(result)));
}

}  // namespace layrub
