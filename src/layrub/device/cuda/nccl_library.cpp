#ifdef USE_NCCL
#include "layrub/device/cuda/nccl_library.hpp"

#include "layrub/device/cuda/pip_remedy.hpp"

namespace layrub {

std::optional<Nccl> OpenNccl(const std::string& file, std::string* why_not) {
  // ncclCommInitRankConfig, the newest of these functions, came with NCCL 2.14.
  return OpenLibrary<Nccl>(
      file, {"NCCL", PipRemedy("NCCL 2.14 or newer", "nvidia-nccl-cu" + CudaMajor(), kNcclFile)},
      why_not);
}

std::string VersionOf(const Nccl& nccl) {
  int code = 0;
  if (!nccl.GetVersion || nccl.GetVersion(&code) != ncclSuccess) return "";
  const int unit = code < 10000 ? 1000 : 10000;  // 2.8 and older: 2804; newer: 22809
  return std::to_string(code / unit) + "." + std::to_string(code % unit / 100) + "." +
         std::to_string(code % 100);
}

}  // namespace layrub
#endif  // USE_NCCL
