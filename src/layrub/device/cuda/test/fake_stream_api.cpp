// CUDA's functions for streams, events and graphs, on the streams of the fake runtime.
#include <cuda.h>
#include <cuda_runtime.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "layrub/device/cuda/test/fake_streams.hpp"

// NOLINTNEXTLINE(build/namespaces)
using namespace layrub::fake_cuda;

namespace {

template <typename Owner, typename Handle>
cudaError_t Destroy(std::vector<std::unique_ptr<Owner>>* all, Handle handle) {
  const size_t gone = std::erase_if(*all, [&](const auto& one) { return one.get() == handle; });
  return gone == 1 ? cudaSuccess : cudaErrorInvalidResourceHandle;
}

}  // namespace

extern "C" {

cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function, void* data) {
  return Enter({"cudaLaunchHostFunc"}, [&](Runtime& runtime) {
    runtime.Put(runtime.StreamOf(stream), {.act = [=] { function(data); }});
    return cudaSuccess;
  });
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned int flags) {
  return Enter({"cudaStreamCreateWithFlags"}, [&](Runtime& runtime) {
    if (flags != cudaStreamDefault && flags != cudaStreamNonBlocking) return cudaErrorNotSupported;
    runtime.UseDevice(current_device);
    runtime.streams.push_back(std::make_unique<CUstream_st>());
    *stream = runtime.streams.back().get();
    (*stream)->blocking = flags == cudaStreamDefault;
    (*stream)->device = current_device;
    (*stream)->haste = runtime.Haste();
    return cudaSuccess;
  });
}

cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  return Enter({"cudaStreamDestroy"}, [&](Runtime& runtime) {
    runtime.Finish(stream);
    return Destroy(&runtime.streams, stream);
  });
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  return Enter({"cudaStreamSynchronize"}, [&](Runtime& runtime) {
    runtime.Finish(runtime.StreamOf(stream));
    return cudaSuccess;
  });
}

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode) {
  return Enter({"cudaStreamBeginCapture"}, [&](Runtime&) {
    if (stream == nullptr || stream->captures) return cudaErrorStreamCaptureUnsupported;
    stream->captures = true;
    captured_stream = stream;
    return cudaSuccess;
  });
}

cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph) {
  const bool captures = std::exchange(captured_stream, nullptr) == stream;
  return Enter({"cudaStreamEndCapture"}, [&](Runtime& runtime) {
    if (!captures) return cudaErrorIllegalState;
    stream->captures = false;
    runtime.graphs.push_back(std::make_unique<CUgraph_st>());
    *graph = runtime.graphs.back().get();
    (*graph)->work = std::move(stream->captured);
    return cudaSuccess;
  });
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t* instance, cudaGraph_t graph, unsigned long long) {
  return Enter({"cudaGraphInstantiate"}, [&](Runtime& runtime) {
    runtime.instances.push_back(std::make_unique<CUgraphExec_st>());
    *instance = runtime.instances.back().get();
    (*instance)->work = graph->work;
    return cudaSuccess;
  });
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t instance, cudaStream_t stream) {
  return Enter({"cudaGraphLaunch"}, [&](Runtime& runtime) {
    for (const Work& work : instance->work) runtime.Put(runtime.StreamOf(stream), work);
    return cudaSuccess;
  });
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  return Enter({"cudaGraphDestroy"},
               [&](Runtime& runtime) { return Destroy(&runtime.graphs, graph); });
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t instance) {
  return Enter({"cudaGraphExecDestroy"},
               [&](Runtime& runtime) { return Destroy(&runtime.instances, instance); });
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned int) {
  return Enter({"cudaStreamWaitEvent"}, [&](Runtime& runtime) {
    const bool dropped = runtime.options.drop_wait && runtime.options.drop_wait(runtime.waits++);
    if (event->mark && !dropped) runtime.Put(runtime.StreamOf(stream), {.wait = event->mark});
    return cudaSuccess;
  });
}

cudaError_t cudaEventCreate(cudaEvent_t* event) {
  return Enter({"cudaEventCreate"}, [&](Runtime& runtime) {
    runtime.events.push_back(std::make_unique<CUevent_st>());
    *event = runtime.events.back().get();
    (*event)->device = current_device;
    return cudaSuccess;
  });
}

cudaError_t cudaEventDestroy(cudaEvent_t event) {
  return Enter({"cudaEventDestroy"},
               [&](Runtime& runtime) { return Destroy(&runtime.events, event); });
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  return Enter({"cudaEventRecord"}, [&](Runtime& runtime) {
    CUstream_st* const on = runtime.StreamOf(stream);
    if (on->device != event->device) return cudaErrorInvalidResourceHandle;
    event->mark = std::make_shared<Mark>(Mark{on, false, 0});
    runtime.Put(on, {.reach = event->mark});
    return cudaSuccess;
  });
}

cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  return Enter({"cudaEventSynchronize"}, [&](Runtime& runtime) {
    if (event->mark) runtime.Reach(event->mark);
    return cudaSuccess;
  });
}

cudaError_t cudaGetDriverEntryPointByVersion(const char* symbol, void** function, unsigned int,
                                             unsigned long long,
                                             cudaDriverEntryPointQueryResult* found) {
  return Enter({"cudaGetDriverEntryPointByVersion"}, [&](Runtime& runtime) {
    const bool is_there =
        std::string(symbol) == "cuStreamWaitValue32" && runtime.options.streams_wait_for_host;
    *function = is_there ? reinterpret_cast<void*>(&cuStreamWaitValue32) : nullptr;
    *found = is_there ? cudaDriverEntryPointSuccess : cudaDriverEntryPointSymbolNotFound;
    return cudaSuccess;
  });
}

CUresult cuStreamWaitValue32(CUstream stream, CUdeviceptr address, cuuint32_t value,
                             unsigned int flags) {
  return static_cast<CUresult>(Enter({"cuStreamWaitValue32"}, [&](Runtime& runtime) {
    auto* const counted = reinterpret_cast<uint32_t*>(address);
    if (flags != CU_STREAM_WAIT_VALUE_GEQ) return cudaErrorNotSupported;
    if (!runtime.Pinned(counted)) return cudaErrorInvalidValue;
    const bool dropped = runtime.options.drop_wait && runtime.options.drop_wait(runtime.waits++);
    if (dropped) return cudaSuccess;
    runtime.Put(runtime.StreamOf(stream), {.until = [=] {
                  const uint32_t now =
                      std::atomic_ref<uint32_t>(*counted).load(std::memory_order_acquire);
                  return static_cast<int32_t>(now - value) >= 0;
                }});
    return cudaSuccess;
  }));
}

cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t begin, cudaEvent_t end) {
  return Enter({"cudaEventElapsedTime"}, [&](Runtime&) {
    if (!begin->mark || !end->mark) return cudaErrorInvalidResourceHandle;
    if (!begin->mark->happened || !end->mark->happened) return cudaErrorNotReady;
    *milliseconds = static_cast<float>(end->mark->milliseconds - begin->mark->milliseconds);
    return cudaSuccess;
  });
}

}  // extern "C"
