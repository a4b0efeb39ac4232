#include "caffe/util/onednn_library.hpp"

#include <dlfcn.h>

#include <cstdlib>
#include <string>

#include "caffe/common.hpp"
#include "layrub/base/beside_library.hpp"

namespace caffe {
namespace {

/// While this object exists, the environment tells GCC's OpenMP not to spin. By default its idle
/// threads spin for a while and take the processor from other threads. OpenMP reads the setting
/// when it is loaded.
class NoSpinScope {
 public:
  NoSpinScope() {
    for (const char* name : {"OMP_WAIT_POLICY", "GOMP_SPINCOUNT"})
      said_ |= std::getenv(name) != nullptr;
    if (!said_) setenv("OMP_WAIT_POLICY", "passive", 0);
  }
  ~NoSpinScope() {
    if (!said_) unsetenv("OMP_WAIT_POLICY");
  }

 private:
  bool said_ = false;  ///< the user has set one of the variables
};

/// Opens the library. This happens at the first use, not at program start, so that
/// NoSpinScope takes effect and programs that compute nothing do not load oneDNN.
void* Open() {
#ifndef USE_ONEDNN
  return nullptr;
#endif
  const NoSpinScope waiting;
  const std::string path = layrub::PathBesideLibrary("libcaffe_onednn.so");
  void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    LOG(WARNING) << "Convolutions and products run without oneDNN: " << dlerror();
    return nullptr;
  }
  const auto interface = reinterpret_cast<decltype(&layrub_onednn_interface)>(
      dlsym(library, "layrub_onednn_interface"));
  if (!interface || interface() != kOneDnnInterface) {
    LOG(WARNING) << "Convolutions and products run without oneDNN: " << path
                 << " is of another version.";
    return nullptr;
  }
  return library;
}

}  // namespace

void* FindInOneDnnLibrary(const char* name) {
  static void* const library = Open();
  return library ? dlsym(library, name) : nullptr;
}

}  // namespace caffe
