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

/// "10.4.0"; empty if the library does not tell.
std::string VersionOf(const Curand& curand);

/// The machine's cuRAND, of the major version of the header that this was compiled with. It is
/// opened by the first call; fails where there is none that will do. Thread safe.
const Curand& NeedCurand();

}  // namespace layrub

#endif  // LAYRUB_DEVICE_CUDA_CURAND_LIBRARY_HPP_
