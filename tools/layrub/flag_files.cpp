#include "layrub/flag_files.hpp"

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string_view>

#include "layrub/commands.hpp"

namespace layrub_tool {

namespace {

constexpr int kMostFiles = 64;
constexpr std::uintmax_t kMostBytes = 1 << 20;
constexpr std::string_view kFlag = "flagfile";

/// A flag without its dashes; empty for an argument that is not a flag.
std::string_view WithoutDashes(std::string_view argument) {
  if (!argument.starts_with('-')) return "";
  argument.remove_prefix(argument.starts_with("--") ? 2 : 1);
  return argument;
}

void Check(const std::string& files, int* seen);

void CheckLines(const std::string& path, int* seen) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    line.erase(0, line.find_first_not_of(" \t\r"));
    const std::string_view flag = WithoutDashes(line);
    if (flag.starts_with(kFlag) && flag.substr(kFlag.size()).starts_with('='))
      Check(std::string(flag.substr(kFlag.size() + 1)), seen);
  }
}

/// Checks the files of the comma-separated list `files`. `seen` counts all files checked so far.
void Check(const std::string& files, int* seen) {
  for (const std::string& path : SplitList(files)) {
    if (++*seen > kMostFiles)
      Fail("--flagfile=" + path + ": there are too many such files, or they name each other.");
    std::error_code unknown;
    if (!std::filesystem::is_regular_file(path, unknown))
      Fail("--flagfile=" + path + ": there is no such file.");
    if (std::filesystem::file_size(path, unknown) > kMostBytes)
      Fail("--flagfile=" + path + ": is larger than 1 MiB.");
    CheckLines(path, seen);
  }
}

}  // namespace

void CheckFlagFiles(const std::vector<std::string>& arguments) {
  int seen = 0;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const std::string_view flag = WithoutDashes(arguments[i]);
    if (!flag.starts_with(kFlag)) continue;
    const std::string_view rest = flag.substr(kFlag.size());
    if (rest.starts_with('=')) Check(std::string(rest.substr(1)), &seen);
    if (rest.empty() && i + 1 < arguments.size()) Check(arguments[i + 1], &seen);
  }
}

}  // namespace layrub_tool
