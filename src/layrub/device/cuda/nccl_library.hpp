#ifndef LAYRUB_DEVICE_CUDA_NCCL_LIBRARY_HPP_
#define LAYRUB_DEVICE_CUDA_NCCL_LIBRARY_HPP_

#include <nccl.h>

#include <optional>
#include <string>
#include <vector>

#include "layrub/base/opened_library.hpp"
#include "layrub/device/communicator.hpp"

namespace layrub {

#if NCCL_VERSION_CODE < NCCL_VERSION(2, 14, 0)
#error "nccl.h is older than NCCL 2.14: name the folder of a newer one by -D NCCL_INCLUDE_DIR=..."
#endif

#define LAYRUB_NCCL(X)         \
  X(nccl, GetVersion);         \
  X(nccl, GetErrorString);     \
  X(nccl, GetUniqueId);        \
  X(nccl, CommInitRankConfig); \
  X(nccl, CommGetAsyncError);  \
  X(nccl, CommDestroy);        \
  X(nccl, CommAbort);          \
  X(nccl, GroupStart);         \
  X(nccl, GroupEnd);           \
  X(nccl, Broadcast);          \
  X(nccl, AllReduce);          \
  X(nccl, Send);               \
  X(nccl, Recv)

/// The functions of NCCL that are called. Any version that has them is accepted.
struct Nccl {
  LAYRUB_LIBRARY_FUNCTIONS(LAYRUB_NCCL)
};
#undef LAYRUB_NCCL

inline constexpr char kNcclFile[] = "libnccl.so.2";

/// OpenLibrary of NCCL in `file`.
std::optional<Nccl> OpenNccl(const std::string& file, std::string* why_not);

/// Returns a version like "2.28.9", or "" if the library does not tell it.
std::string VersionOf(const Nccl& nccl);

/// Does what ConnectGpus does, with the functions of `nccl`.
Group ConnectByNccl(const Nccl& nccl, const std::vector<Device*>& gpus);

}  // namespace layrub

#endif  // LAYRUB_DEVICE_CUDA_NCCL_LIBRARY_HPP_
