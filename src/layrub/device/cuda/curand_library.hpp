#ifndef LAYRUB_DEVICE_CUDA_CURAND_LIBRARY_HPP_
#define LAYRUB_DEVICE_CUDA_CURAND_LIBRARY_HPP_

#include <curand.h>

#include <optional>
#include <string>

#include "layrub/base/opened_library.hpp"

namespace layrub {

#define LAYRUB_CURAND(X)                   \
  X(curand, GetVersion);                   \
  X(curand, CreateGenerator);              \
  X(curand, DestroyGenerator);             \
  X(curand, SetStream);                    \
  X(curand, SetPseudoRandomGeneratorSeed); \
  X(curand, SetGeneratorOffset);           \
  X(curand, Generate);                     \
  X(curand, GenerateUniform);              \
  X(curand, GenerateUniformDouble);        \
  X(curand, GenerateNormal);               \
  X(curand, GenerateNormalDouble)

/// The functions of cuRAND that are called.
struct Curand {
  LAYRUB_LIBRARY_FUNCTIONS(LAYRUB_CURAND)
};
#undef LAYRUB_CURAND

/// OpenLibrary of cuRAND in `file`.
std::optional<Curand> OpenCurand(const std::string& file, std::string* why_not);

/// Returns a version like "10.4.0", or "" if the library does not tell it.
std::string VersionOf(const Curand& curand);

/// Returns this machine's cuRAND, of the same major version as the header this was compiled with.
/// The first call opens it. It is a failure if no usable one is found. Thread safe.
const Curand& RequireCurand();

}  // namespace layrub

#endif  // LAYRUB_DEVICE_CUDA_CURAND_LIBRARY_HPP_
