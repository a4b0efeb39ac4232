#ifndef LAYRUB_DEVICE_CPU_BACKEND_HPP_
#define LAYRUB_DEVICE_CPU_BACKEND_HPP_

#include <memory>
#include <string>

#include "layrub/device/backend.hpp"

namespace layrub {

class EmulatedDevice;

/// The CPU backend (MakeCpuBackend), but with the device tier in the memory of `device`.
std::unique_ptr<Backend> MakeEmulatedBackend(EmulatedDevice* device, const std::string& spill_file);

}  // namespace layrub

#endif  // LAYRUB_DEVICE_CPU_BACKEND_HPP_
