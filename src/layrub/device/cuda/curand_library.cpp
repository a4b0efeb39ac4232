#include "layrub/device/cuda/curand_library.hpp"

#include "layrub/device/cuda/pip_remedy.hpp"
#include "layrub/device/failure.hpp"

namespace layrub {
namespace {

std::string Major() { return std::to_string(CURAND_VER_MAJOR); }
std::string File() { return "libcurand.so." + Major(); }

}  // namespace

std::optional<Curand> OpenCurand(const std::string& file, std::string* why_not) {
  // Since CUDA 13 the package's name has no version.
  const std::string package =
      CUDART_VERSION < 13000 ? "nvidia-curand-cu" + CudaMajor() : std::string("nvidia-curand");
  return OpenLibrary<Curand>(file, {"cuRAND", PipRemedy("cuRAND " + Major(), package, File())},
                             why_not);
}

std::string VersionOf(const Curand& curand) {
  int code = 0;
  if (!curand.GetVersion || curand.GetVersion(&code) != CURAND_STATUS_SUCCESS) return "";
  return std::to_string(code / 1000) + "." + std::to_string(code % 1000 / 100) + "." +
         std::to_string(code % 100);
}

const Curand& RequireCurand() {
  // If Fail throws, the next call tries again.
  static const Curand curand = [] {
    std::string why_not;
    const std::optional<Curand> opened = OpenCurand(File(), &why_not);
    if (!opened) Fail("Random numbers on a GPU need cuRAND: " + why_not);
    return *opened;
  }();
  return curand;
}

}  // namespace layrub
