#include "layrub/base/opened_library.hpp"

#include <dlfcn.h>

namespace layrub {

OpenedLibrary::OpenedLibrary(const std::string& file)
    : handle_(dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL)) {
  if (handle_ == nullptr) error_ = dlerror();
}

void* OpenedLibrary::Find(const char* symbol) const { return dlsym(handle_, symbol); }

void OpenedLibrary::Close() { dlclose(handle_); }

}  // namespace layrub
