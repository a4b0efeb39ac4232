#include "layrub/device/cuda/test/fake_runtime.hpp"

#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>
#include <utility>

#include "layrub/device/cuda/test/fake_streams.hpp"

namespace layrub::fake_cuda {
namespace {

std::mutex mutex;
std::condition_variable something_queued;
thread_local std::unique_lock<std::mutex>* lock_of_call = nullptr;
thread_local cudaError_t last_error = cudaSuccess;

std::unique_ptr<Runtime>& Now() {
  static auto& runtime =
      *new std::unique_ptr<Runtime>(std::make_unique<Runtime>(OptionsOfEnvironment()));
  return runtime;
}

cudaError_t Allocate(Runtime& runtime, void** address, size_t bytes, int device) {
  const auto size = static_cast<int64_t>(bytes);
  runtime.UseDevice(current_device);
  const bool fits = device < 0 ? runtime.pinned + size <= runtime.options.pinned_bytes
                               : size <= runtime.FreeBytes(device);
  if (!fits) return cudaErrorMemoryAllocation;
  EmulatedDevice* const emulated = device < 0 ? nullptr : runtime.devices[device].memory.get();
  char* const memory = static_cast<char*>(
      emulated ? emulated->Allocate(size) : std::aligned_alloc(256, (bytes + 255) / 256 * 256));
  if (memory == nullptr) return cudaErrorMemoryAllocation;
  // When nothing is computed, memory is zeroed, because zeros are valid values.
  std::memset(emulated ? emulated->Alias(memory) : memory, runtime.options.idle ? 0 : 0xA5, bytes);
  runtime.memory[memory] = {size, device};
  (device < 0 ? runtime.pinned : runtime.devices[device].used) += size;
  *address = memory;
  return cudaSuccess;
}

/// Calls that CUDA refuses to a thread that captures a stream.
bool WaitsOrAllocates(const std::string& call) {
  return call == "cudaMalloc" || call == "cudaFree" || call == "cudaHostAlloc" ||
         call == "cudaFreeHost" || call == "cudaMemcpy" || call == "cudaStreamSynchronize" ||
         call == "cudaEventRecord" || call == "cudaEventSynchronize";
}

cudaError_t Free(Runtime& runtime, void* address, bool pinned) {
  if (address == nullptr) return cudaSuccess;
  const auto range = runtime.memory.find(static_cast<char*>(address));
  if (range == runtime.memory.end() || (range->second.device < 0) != pinned) {
    runtime.Violate("memory is freed that was not allocated");
    return cudaErrorInvalidValue;
  }
  const auto [bytes, device] = range->second;
  for (CUstream_st* stream : runtime.Streams()) {
    if (stream->device == device) runtime.Finish(stream);  // cudaFree waits for the device
    for (const Work& work : stream->queue) {
      for (const void* touched : work.touches) {
        if (touched && runtime.RangeOf(touched) == range)
          runtime.Violate("pinned memory is freed before its copies are done");
      }
    }
  }
  (pinned ? runtime.pinned : runtime.devices[device].used) -= bytes;
  runtime.GiveBack(range->first, range->second);
  runtime.memory.erase(range);
  return cudaSuccess;
}

}  // namespace

cudaError_t Enter(Call call, const std::function<cudaError_t(Runtime&)>& body) {
  if (at_work) return cudaErrorNotPermitted;  // the lock is held: work that calls CUDA deadlocks
  std::unique_lock lock(mutex);
  lock_of_call = &lock;
  if (const auto before = Now()->options.before) {
    lock.unlock();
    before(call.name);
    lock.lock();
  }
  Runtime& runtime = *Now();
  if (call.name == runtime.options.others_end) runtime.options.others_bytes = 0;
  cudaError_t error = runtime.sticky;
  if (error == cudaSuccess && runtime.options.fail) error = runtime.options.fail(call.name);
  if (error == cudaSuccess && captured_stream && WaitsOrAllocates(call.name)) {
    runtime.Violate(call.name + " is called by a thread that captures a stream");
    error = cudaErrorStreamCaptureUnsupported;
  }
  if (runtime.options.keep_calls) runtime.calls.push_back(call);
  if (error == cudaSuccess) {
    error = body(runtime);
    runtime.GoOn();
  }
  if (error == cudaSuccess) error = runtime.sticky;
  if (error != cudaSuccess) last_error = error;
  something_queued.notify_all();
  return error;
}

bool AwaitOthers(const Mark& mark) {
  constexpr auto kPatience = std::chrono::seconds(30);
  return something_queued.wait_for(*lock_of_call, kPatience,
                                   [&] { return mark.stream || mark.happened; });
}

bool AwaitOthers(const std::function<bool()>& done) {
  constexpr auto kPatience = std::chrono::seconds(30);
  constexpr auto kPause = std::chrono::microseconds(50);
  const auto end = std::chrono::steady_clock::now() + kPatience;
  while (!done()) {
    if (std::chrono::steady_clock::now() > end) return false;
    something_queued.wait_for(*lock_of_call, kPause);
  }
  return true;
}

void Reset(Options options) {
  const std::lock_guard lock(mutex);
  Now() = std::make_unique<Runtime>(std::move(options));
  current_device = 0;
  last_error = cudaSuccess;
}

void Launch(std::function<void()> kernel, cudaStream_t stream) {
  Enter({"kernel"}, [&](Runtime& runtime) {
    if (runtime.StreamOf(stream)->device != current_device) return cudaErrorInvalidResourceHandle;
    if (!runtime.options.idle) runtime.Put(runtime.StreamOf(stream), {.act = std::move(kernel)});
    return cudaSuccess;
  });
}

std::vector<Call> Calls() {
  const std::lock_guard lock(mutex);
  return Now()->calls;
}

void LoadLibraries(int64_t bytes) {
  const std::lock_guard lock(mutex);
  Now()->devices[current_device].libraries_bytes += bytes;
}

void ForgetCalls() {
  const std::lock_guard lock(mutex);
  Now()->calls.clear();
}

Alive WhatIsAlive() {
  const std::lock_guard lock(mutex);
  Alive alive;
  for (const auto& range : Now()->memory)
    ++(range.second.device < 0 ? alive.pinned_memory : alive.device_memory);
  alive.streams = static_cast<int>(Now()->streams.size());
  alive.events = static_cast<int>(Now()->events.size());
  alive.graphs = static_cast<int>(Now()->graphs.size() + Now()->instances.size());
  return alive;
}

std::vector<std::string> Violations() {
  const std::lock_guard lock(mutex);
  return Now()->violations;
}

void ForgetViolations() {
  const std::lock_guard lock(mutex);
  Now()->violations.clear();
}

}  // namespace layrub::fake_cuda

// NOLINTNEXTLINE(build/namespaces)
using namespace layrub::fake_cuda;

namespace {

Work CopyWork(Runtime& runtime, void* to, const void* from, size_t bytes) {
  const auto distance = std::abs(static_cast<char*>(to) - static_cast<const char*>(from));
  if (static_cast<size_t>(distance) < bytes) runtime.Violate("a copy reads what it writes");
  return {.act = [=] { std::memmove(to, from, bytes); }, .touches = {to, from}};
}

}  // namespace

extern "C" {

cudaError_t cudaGetDeviceCount(int* count) {
  return Enter({"cudaGetDeviceCount"}, [&](Runtime& runtime) {
    *count = runtime.options.devices;
    return *count > 0 ? cudaSuccess : cudaErrorNoDevice;
  });
}

cudaError_t cudaGetDevice(int* device) {
  *device = current_device;
  return cudaSuccess;
}

cudaError_t cudaSetDevice(int device) {
  return Enter({"cudaSetDevice"}, [&](Runtime& runtime) {
    if (device < 0 || device >= runtime.options.devices) return cudaErrorInvalidDevice;
    current_device = device;
    runtime.UseDevice(device);
    return cudaSuccess;
  });
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device) {
  return Enter({"cudaGetDeviceProperties"}, [&](Runtime& runtime) {
    *properties = {};
    std::snprintf(properties->name, sizeof properties->name, "Fake %d", device);
    properties->totalGlobalMem = static_cast<size_t>(runtime.options.device_bytes);
    properties->major = runtime.options.compute_capability;
    return cudaSuccess;
  });
}

cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int) {
  return Enter({"cudaDeviceGetAttribute"}, [&](Runtime& runtime) {
    if (attribute != cudaDevAttrComputeCapabilityMajor) return cudaErrorNotSupported;
    *value = runtime.options.compute_capability;
    return cudaSuccess;
  });
}

cudaError_t cudaDeviceGetPCIBusId(char* bus_id, int length, int device) {
  return Enter({"cudaDeviceGetPCIBusId"}, [&](Runtime& runtime) {
    if (device < 0 || device >= runtime.options.devices) return cudaErrorInvalidDevice;
    std::snprintf(bus_id, static_cast<size_t>(length), "FFFF:%02X:00.0", device);  // no machine's
    return cudaSuccess;
  });
}

cudaError_t cudaMemGetInfo(size_t* free, size_t* total) {
  return Enter({"cudaMemGetInfo"}, [&](Runtime& runtime) {
    runtime.UseDevice(current_device);
    *total = static_cast<size_t>(runtime.options.device_bytes);
    *free = static_cast<size_t>(runtime.FreeBytes(current_device));
    return cudaSuccess;
  });
}

cudaError_t cudaRuntimeGetVersion(int* version) {
  *version = CUDART_VERSION;
  return cudaSuccess;
}

cudaError_t cudaDriverGetVersion(int* version) { return cudaRuntimeGetVersion(version); }

cudaError_t cudaGetLastError() { return std::exchange(last_error, cudaSuccess); }

cudaError_t cudaPeekAtLastError() { return last_error; }

const char* cudaGetErrorString(cudaError_t error) {
  switch (error) {
    case cudaSuccess:
      return "no error";
    case cudaErrorMemoryAllocation:
      return "out of memory";
    case cudaErrorIllegalAddress:
      return "an illegal memory access was encountered";
    case cudaErrorLaunchFailure:
      return "unspecified launch failure";
    default:
      return "another error";
  }
}

cudaError_t cudaMalloc(void** address, size_t bytes) {
  return Enter({"cudaMalloc", static_cast<int64_t>(bytes)},
               [&](Runtime& runtime) { return Allocate(runtime, address, bytes, current_device); });
}

cudaError_t cudaFree(void* address) {
  return Enter({"cudaFree"}, [&](Runtime& runtime) { return Free(runtime, address, false); });
}

cudaError_t cudaHostAlloc(void** address, size_t bytes, unsigned int) {
  return Enter({"cudaHostAlloc", static_cast<int64_t>(bytes)},
               [&](Runtime& runtime) { return Allocate(runtime, address, bytes, -1); });
}

cudaError_t cudaFreeHost(void* address) {
  return Enter({"cudaFreeHost"}, [&](Runtime& runtime) { return Free(runtime, address, true); });
}

cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* address) {
  return Enter({"cudaPointerGetAttributes"}, [&](Runtime& runtime) {
    *attributes = {};
    attributes->type = runtime.OnDevice(address) ? cudaMemoryTypeDevice
                       : runtime.Pinned(address) ? cudaMemoryTypeHost
                                                 : cudaMemoryTypeUnregistered;
    return cudaSuccess;
  });
}

cudaError_t cudaMemsetAsync(void* address, int value, size_t bytes, cudaStream_t stream) {
  return Enter({"cudaMemsetAsync", static_cast<int64_t>(bytes)}, [&](Runtime& runtime) {
    runtime.Put(runtime.StreamOf(stream),
                {.act = [=] { std::memset(address, value, bytes); }, .touches = {address}});
    return cudaSuccess;
  });
}

cudaError_t cudaMemcpy(void* to, const void* from, size_t bytes, cudaMemcpyKind) {
  return Enter({"cudaMemcpy", static_cast<int64_t>(bytes)}, [&](Runtime& runtime) {
    CUstream_st* const stream = runtime.StreamOf(nullptr);
    runtime.Put(stream, CopyWork(runtime, to, from, bytes));
    if (!runtime.OnDevice(to) || !runtime.OnDevice(from)) runtime.Finish(stream);
    return cudaSuccess;
  });
}

cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind,
                            cudaStream_t stream) {
  return Enter({"cudaMemcpyAsync", static_cast<int64_t>(bytes)}, [&](Runtime& runtime) {
    const auto known = [&](const void* side) {
      return runtime.Pinned(side) || runtime.OnDevice(side);
    };
    if (runtime.options.keep_calls) runtime.calls.back().pageable = !known(to) || !known(from);
    runtime.Put(runtime.StreamOf(stream), CopyWork(runtime, to, from, bytes));
    return cudaSuccess;
  });
}

}  // extern "C"
