#ifdef USE_NCCL
#include "layrub/device/cuda/nccl_library.hpp"

#include <cuda_runtime.h>
#include <dlfcn.h>

namespace layrub {
namespace {

/// How to get one that will do: ncclCommAbort, the youngest of its functions, came with NCCL 2.4.
std::string Remedy() {
  return "install NCCL 2.4 or newer, for example with 'pip install nvidia-nccl-cu" +
         std::to_string(CUDART_VERSION / 1000) + "', and name the folder of its " + kNcclFile +
         " in LD_LIBRARY_PATH, unless it is where the system looks.";
}

/// Sets `*function` to what the library calls `name`, or notes that it is missing.
template <typename Function>
void Resolve(void* library, const char* name, Function** function, std::string* missing) {
  *function = reinterpret_cast<Function*>(dlsym(library, name));
  if (*function == nullptr && missing->empty()) *missing = name;
}

}  // namespace

std::optional<Nccl> OpenNccl(const std::string& file, std::string* why_not) {
  void* const library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    *why_not = std::string("NCCL was not found (") + dlerror() + "): " + Remedy();
    return std::nullopt;
  }
  Nccl nccl;
  std::string missing;
  Resolve(library, "ncclGetVersion", &nccl.GetVersion, &missing);
  Resolve(library, "ncclGetErrorString", &nccl.GetErrorString, &missing);
  Resolve(library, "ncclCommInitAll", &nccl.CommInitAll, &missing);
  Resolve(library, "ncclCommDestroy", &nccl.CommDestroy, &missing);
  Resolve(library, "ncclCommAbort", &nccl.CommAbort, &missing);
  Resolve(library, "ncclGroupStart", &nccl.GroupStart, &missing);
  Resolve(library, "ncclGroupEnd", &nccl.GroupEnd, &missing);
  Resolve(library, "ncclBroadcast", &nccl.Broadcast, &missing);
  Resolve(library, "ncclAllReduce", &nccl.AllReduce, &missing);
  if (missing.empty()) return nccl;
  const std::string version = nccl.GetVersion ? VersionOf(nccl) : "";
  *why_not = "NCCL " + version + (version.empty() ? "" : " ") + "is too old (" + file + " has no " +
             missing + "): " + Remedy();
  dlclose(library);
  return std::nullopt;
}

std::string VersionOf(const Nccl& nccl) {
  int code = 0;
  if (nccl.GetVersion(&code) != ncclSuccess) return "";
  const int unit = code < 10000 ? 1000 : 10000;  // 2.8 and older: 2804; newer: 22809
  return std::to_string(code / unit) + "." + std::to_string(code % unit / 100) + "." +
         std::to_string(code % 100);
}

}  // namespace layrub
#endif  // USE_NCCL
