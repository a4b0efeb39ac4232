#ifndef LAYRUB_DEVICE_CUDA_NVML_LIBRARY_HPP_
#define LAYRUB_DEVICE_CUDA_NVML_LIBRARY_HPP_

#include <cstdint>
#include <optional>
#include <string>

#include "layrub/base/opened_library.hpp"

// NVML comes with the driver, and CUDA's toolkit may lack its header. These are the functions that
// are called, as its fixed binary interface has them.
extern "C" {
struct LayrubNvmlMemory {
  unsigned long long total, free, used;  // NOLINT(runtime/int)
};
int nvmlInit_v2();
int nvmlShutdown();
const char* nvmlErrorString(int error);
int nvmlDeviceGetHandleByPciBusId_v2(const char* bus_id, void** device);
int nvmlDeviceGetMemoryInfo(void* device, LayrubNvmlMemory* memory);
}

namespace layrub {

#define LAYRUB_NVML(X)                   \
  X(nvml, Init_v2);                      \
  X(nvml, Shutdown);                     \
  X(nvml, ErrorString);                  \
  X(nvml, DeviceGetHandleByPciBusId_v2); \
  X(nvml, DeviceGetMemoryInfo)

/// The functions of NVML that are called.
struct Nvml {
  LAYRUB_LIBRARY_FUNCTIONS(LAYRUB_NVML)
};
#undef LAYRUB_NVML

inline constexpr char kNvmlFile[] = "libnvidia-ml.so.1";

/// OpenLibrary of NVML in `file`.
std::optional<Nvml> OpenNvml(const std::string& file, std::string* why_not);

/// Returns "": NVML tells its version only after nvmlInit.
inline std::string VersionOf(const Nvml&) { return ""; }

/// Bytes of a GPU's memory.
struct GpuMemory {
  int64_t total = 0, free = 0;
};

/// Asks NVML for the memory of GPU `id` (by CUDA's numbering). NVML makes no context. Returns
/// nothing, and sets `*why_not` to a sentence, if NVML does not tell. Thread safe.
std::optional<GpuMemory> QueryNvml(int id, std::string* why_not);

}  // namespace layrub

#endif  // LAYRUB_DEVICE_CUDA_NVML_LIBRARY_HPP_
