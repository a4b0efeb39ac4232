#include "start_python.hpp"

#include <dlfcn.h>

namespace caffe {
namespace {

string Start() {
  Dl_info here;
  const bool found = dladdr(reinterpret_cast<void*>(&StartPython), &here) != 0;
  const string path = found ? here.dli_fname : "";
  const size_t slash = path.rfind('/');
  const string folder = slash == string::npos ? "" : path.substr(0, slash + 1);
  // Modules of Python's that are libraries take its functions from whoever has loaded them.
  void* const library = dlopen((folder + "libcaffe_python.so").c_str(), RTLD_NOW | RTLD_GLOBAL);
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
