#include <stdexcept>

#include "layrub/device/communicator.hpp"
#include "layrub/device/device.hpp"

namespace layrub {

bool HasGpuBackend() { return false; }

int GpuCount() { return 0; }

Device& Gpu(int) { throw std::logic_error("Gpu: there is none"); }

Group ConnectGpus(const std::vector<Device*>&, std::string* why_not) {
  *why_not = NoGpuReason();
  return {};
}

bool HasNccl() { return false; }

std::string NoGpuReason() { return "Cannot use GPU in CPU-only Caffe: check mode."; }

}  // namespace layrub
