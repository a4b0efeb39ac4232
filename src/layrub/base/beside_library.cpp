#include "layrub/base/beside_library.hpp"

#include <dlfcn.h>

#include <filesystem>
#include <system_error>

namespace layrub {

std::string PathBesideLibrary(const std::string& name) {
  Dl_info here;
  if (!dladdr(reinterpret_cast<void*>(&PathBesideLibrary), &here)) return name;
  // The path that the loader was given. It may be a link, or relative to the folder in which the
  // program started.
  std::error_code error;
  const std::filesystem::path whole = std::filesystem::canonical(here.dli_fname, error);
  const std::filesystem::path library = error ? std::filesystem::path(here.dli_fname) : whole;
  return (library.parent_path() / name).string();
}

}  // namespace layrub
