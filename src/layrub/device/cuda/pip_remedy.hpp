#ifndef LAYRUB_DEVICE_CUDA_PIP_REMEDY_HPP_
#define LAYRUB_DEVICE_CUDA_PIP_REMEDY_HPP_

#include <cuda_runtime.h>

#include <string>

namespace layrub {

/// Returns advice on how to install `what`: the Python package `package` has it for the CUDA
/// version of this build, in `file`.
inline std::string PipRemedy(const std::string& what, const std::string& package,
                             const std::string& file) {
  return "install " + what + ", for example with 'pip install " + package +
         "', and name the folder of its " + file +
         " in LD_LIBRARY_PATH, unless the system searches it anyway.";
}

/// Returns CUDA's major version, such as "13", as it appears in names of Python packages.
inline std::string CudaMajor() { return std::to_string(CUDART_VERSION / 1000); }

}  // namespace layrub

#endif  // LAYRUB_DEVICE_CUDA_PIP_REMEDY_HPP_
