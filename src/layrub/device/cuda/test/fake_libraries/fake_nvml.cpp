// A fake of the part of NVML that is called, as a shared library with NVML's name. It reports the
// memory of the fake runtime's devices, which it finds in the program that opens it.
#include <cstdlib>

#include "layrub/device/cuda/nvml_library.hpp"
#include "layrub/device/cuda/test/fake_streams.hpp"

// NOLINTNEXTLINE(build/namespaces)
using namespace layrub::fake_cuda;

namespace {

int Result(cudaError_t error) { return error == cudaSuccess ? 0 : 999; }
int Count(const char* call) {
  return Result(Enter({call}, [](Runtime&) { return cudaSuccess; }));
}

}  // namespace

extern "C" {

int nvmlInit_v2() { return Count("nvmlInit_v2"); }
int nvmlShutdown() { return Count("nvmlShutdown"); }
const char* nvmlErrorString(int) { return "Unknown Error"; }

/// A handle is the device's number plus one.
int nvmlDeviceGetHandleByPciBusId_v2(const char* bus_id, void** device) {
  return Result(Enter({"nvmlDeviceGetHandleByPciBusId_v2"}, [&](Runtime& runtime) {
    const std::string id = bus_id;
    const size_t number = std::strtoul(id.substr(5, 2).c_str(), nullptr, 16);
    if (id.substr(0, 5) != "FFFF:" || number >= runtime.devices.size())
      return cudaErrorInvalidDevice;
    *device = reinterpret_cast<void*>(number + 1);
    return cudaSuccess;
  }));
}

int nvmlDeviceGetMemoryInfo(void* device, LayrubNvmlMemory* memory) {
  return Result(Enter({"nvmlDeviceGetMemoryInfo"}, [&](Runtime& runtime) {
    const size_t number = reinterpret_cast<size_t>(device) - 1;
    const int64_t used = runtime.devices[number].used + runtime.options.others_bytes;
    // As with NVML, the driver's own part is in `total` and in `used`.
    memory->total =
        static_cast<size_t>(runtime.options.device_bytes + runtime.options.outside_bytes);
    memory->free = static_cast<size_t>(runtime.options.device_bytes - used);
    memory->used = memory->total - memory->free;
    return cudaSuccess;
  }));
}

}  // extern "C"
