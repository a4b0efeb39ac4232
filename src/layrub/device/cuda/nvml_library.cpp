#include "layrub/device/cuda/nvml_library.hpp"

#include <array>

#include "layrub/device/cuda/check.hpp"

namespace layrub {

std::optional<Nvml> OpenNvml(const std::string& file, std::string* why_not) {
  const std::string remedy =
      std::string("install the part of the GPU's driver that has ") + kNvmlFile +
      " (in a container: 'utility' in NVIDIA_DRIVER_CAPABILITIES), and name its folder in "
      "LD_LIBRARY_PATH, unless the system searches it anyway.";
  return OpenLibrary<Nvml>(file, {"NVML", remedy}, why_not);
}

std::optional<GpuMemory> QueryNvml(int id, std::string* why_not) {
  const std::optional<Nvml> nvml = OpenNvml(kNvmlFile, why_not);
  if (!nvml) return std::nullopt;
  std::array<char, 32> bus_id{};
  LAYRUB_CUDA(cudaDeviceGetPCIBusId(bus_id.data(), bus_id.size(), id));
  const auto failed = [&](const char* call, int error) {
    if (error == 0) return false;
    *why_not = std::string(call) + ": " + nvml->ErrorString(error) + ".";
    return true;
  };
  if (failed("nvmlInit_v2", nvml->Init_v2())) return std::nullopt;
  void* device = nullptr;
  LayrubNvmlMemory memory{};
  const bool told = !failed("nvmlDeviceGetHandleByPciBusId_v2",
                            nvml->DeviceGetHandleByPciBusId_v2(bus_id.data(), &device)) &&
                    !failed("nvmlDeviceGetMemoryInfo", nvml->DeviceGetMemoryInfo(device, &memory));
  nvml->Shutdown();
  if (!told) return std::nullopt;
  return GpuMemory{static_cast<int64_t>(memory.total), static_cast<int64_t>(memory.free)};
}

}  // namespace layrub
