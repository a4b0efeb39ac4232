#include "layrub/report/put_aside.hpp"

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "layrub/commands.hpp"

namespace layrub_tool {

namespace fs = std::filesystem;

namespace {

std::string Numbered(const fs::path& path, int number) {
  const std::string name =
      path.stem().string() + "." + std::to_string(number) + path.extension().string();
  return fs::path(path).replace_filename(name).string();
}

/// The first number that is free for all of `paths`.
int FreeNumber(const std::vector<std::string>& paths) {
  int number = 1;
  while (std::any_of(paths.begin(), paths.end(), [number](const std::string& path) {
    std::error_code ignored;
    return fs::exists(fs::symlink_status(Numbered(path, number), ignored));
  }))
    ++number;
  return number;
}

bool HoldsSomething(const std::string& path) {
  std::error_code missing;
  return fs::file_size(path, missing) > 0 && !missing;
}

}  // namespace

std::vector<std::string> RenameToFreeNames(const std::vector<std::string>& paths) {
  const int number = FreeNumber(paths);
  std::vector<std::string> names;
  for (const std::string& path : paths) {
    if (!HoldsSomething(path)) continue;
    names.push_back(Numbered(path, number));
    std::error_code error;
    fs::rename(path, names.back(), error);
    if (error) Fail("cannot rename " + path + " to " + names.back() + ": " + error.message());
  }
  return names;
}

std::string CopyToFreeName(const std::string& path) {
  const std::string name = Numbered(path, FreeNumber({path}));
  std::error_code error;
  fs::copy_file(path, name, error);
  if (error) {
    std::error_code ignored;
    fs::remove(name, ignored);  // a partial copy may exist
    Fail("cannot copy " + path + " to " + name + ": " + error.message());
  }
  return name;
}

}  // namespace layrub_tool
