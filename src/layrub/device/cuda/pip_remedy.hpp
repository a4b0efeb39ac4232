#ifndef LAYRUB_DEVICE_CUDA_PIP_REMEDY_HPP_
#define LAYRUB_DEVICE_CUDA_PIP_REMEDY_HPP_

#include <cuda_runtime.h>

#include <string>

namespace layrub {

/// How to get `what`, which Python's package has for the CUDA of this build, with `file` in it.
inline std::string PipRemedy(const std::string& what, const std::string& package,
                             const std::string& file) {
  return "install " + what + ", for example with 'pip install " + package +
         "', and name the folder of its " + file +
         " in LD_LIBRARY_PATH, unless it is where the system looks.";
}

/// "13": CUDA's version as Python's packages have it in their names.
inline std::string CudaMajor() { return std::to_string(CUDART_VERSION / 1000); }

}  // namespace layrub

#endif  // LAYRUB_DEVICE_CUDA_PIP_REMEDY_HPP_
