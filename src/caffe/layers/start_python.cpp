#include "start_python.hpp"

#include <dlfcn.h>

#include "layrub/base/beside_library.hpp"

namespace caffe {
namespace {

string Start() {
  // Python modules that are shared libraries look up the interpreter's functions in whatever loaded
  // them.
  void* const library =
      dlopen(layrub::PathBesideLibrary("libcaffe_python.so").c_str(), RTLD_NOW | RTLD_GLOBAL);
  if (!library) return dlerror();
  const auto start = reinterpret_cast<const char* (*)()>(dlsym(library, "layrub_start_python"));
  if (!start) return dlerror();
  const char* const error = start();
  return error ? error : "";
}

}  // namespace

string StartPython() {
  static const string error = Start();
  return error;
}

}  // namespace caffe
