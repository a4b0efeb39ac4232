#ifndef LAYRUB_DEVICE_CUDA_NCCL_LIBRARY_HPP_
#define LAYRUB_DEVICE_CUDA_NCCL_LIBRARY_HPP_

#include <nccl.h>

#include <optional>
#include <string>

#include "layrub/device/communicator.hpp"

namespace layrub {

/// The functions of NCCL that are called, as nccl.h declares them. The library is opened when it is
/// needed first, so that programs start where there is none; any version that has them will do.
struct Nccl {
  decltype(&ncclGetVersion) GetVersion = nullptr;
  decltype(&ncclGetErrorString) GetErrorString = nullptr;
  decltype(&ncclCommInitAll) CommInitAll = nullptr;
  decltype(&ncclCommDestroy) CommDestroy = nullptr;
  decltype(&ncclCommAbort) CommAbort = nullptr;
  decltype(&ncclGroupStart) GroupStart = nullptr;
  decltype(&ncclGroupEnd) GroupEnd = nullptr;
  decltype(&ncclBroadcast) Broadcast = nullptr;
  decltype(&ncclAllReduce) AllReduce = nullptr;
};

inline constexpr char kNcclFile[] = "libnccl.so.2";

/// Opens `file` for as long as the process lives. Without a slash in its name it is looked for as
/// the loader does it: in LD_LIBRARY_PATH, in libcaffe's own search path, where the system looks.
/// Empty where it cannot be used: then `*why_not` is a sentence that says why, and what would help.
/// Thread safe.
std::optional<Nccl> OpenNccl(const std::string& file, std::string* why_not);

/// "2.28.9"; empty if the library does not tell.
std::string VersionOf(const Nccl& nccl);

/// ConnectGpus, by the functions of `nccl`.
Group ConnectByNccl(const Nccl& nccl, const std::vector<Device*>& gpus);

}  // namespace layrub

#endif  // LAYRUB_DEVICE_CUDA_NCCL_LIBRARY_HPP_
