#include "caffe/util/onednn_library.hpp"

#include <dlfcn.h>

#include <cstdlib>
#include <string>

#include "caffe/common.hpp"
#include "layrub/base/beside_library.hpp"

namespace caffe {
namespace {

/// Threads of GCC's OpenMP, when they have nothing to do, turn in a loop for a while, in which
/// those of loops and products want the processor. It reads how they wait when it is loaded.
class WaitingWithoutLoops {
 public:
  WaitingWithoutLoops() {
    for (const char* name : {"OMP_WAIT_POLICY", "GOMP_SPINCOUNT"})
      said_ |= std::getenv(name) != nullptr;
    if (!said_) setenv("OMP_WAIT_POLICY", "passive", 0);
  }
  ~WaitingWithoutLoops() {
    if (!said_) unsetenv("OMP_WAIT_POLICY");
  }

 private:
  bool said_ = false;  ///< by the user
};

/// Opened at the first use, not when the program starts: so it can be told how to wait, and
/// programs that compute nothing do not load oneDNN.
void* Open() {
#ifndef USE_ONEDNN
  return nullptr;
#endif
  const WaitingWithoutLoops waiting;
  const std::string path = layrub::BesideLibrary("libcaffe_onednn.so");
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
