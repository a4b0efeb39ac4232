#ifdef USE_CUDNN
#include "layrub/device/cuda/cudnn_library.hpp"

#include <glog/logging.h>

#include "layrub/device/cuda/pip_remedy.hpp"

namespace layrub {
namespace {

std::string Major() { return std::to_string(CUDNN_MAJOR); }
std::string File() { return "libcudnn.so." + Major(); }

}  // namespace

std::optional<Cudnn> OpenCudnn(const std::string& file, std::string* why_not) {
  const std::string remedy = PipRemedy("cuDNN " + Major(), "nvidia-cudnn-cu" + CudaMajor(), File());
  return OpenLibrary<Cudnn>(file, {"cuDNN", remedy}, why_not);
}

std::string VersionOf(const Cudnn& cudnn) {
  if (!cudnn.GetVersion) return "";
  const size_t code = cudnn.GetVersion();
  const size_t unit = code < 10000 ? 1000 : 10000;  // up to 8: 8907; since then: 90100
  return std::to_string(code / unit) + "." + std::to_string(code % unit / 100) + "." +
         std::to_string(code % 100);
}

const Cudnn* FindCudnn() {
  static const std::optional<Cudnn> cudnn = [] {
    std::string why_not;
    const std::optional<Cudnn> opened = OpenCudnn(File(), &why_not);
    if (!opened) LOG(WARNING) << "Layrub's own kernels replace cuDNN's: " << why_not;
    return opened;
  }();
  return cudnn ? &*cudnn : nullptr;
}

}  // namespace layrub
#endif  // USE_CUDNN
