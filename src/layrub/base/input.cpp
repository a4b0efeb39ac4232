#include "layrub/base/input.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <thread>

namespace layrub {

namespace {

constexpr size_t kMaxTextBytes = size_t{1} << 30;
/// How often to look for the writer of a pipe: a shell may start the reader first.
constexpr int kTries = 20;
constexpr auto kBetweenTries = std::chrono::milliseconds(50);

/// Whether a writer has the other end of the pipe open, or has left data in it.
bool HasWriter(int pipe) {
  std::array<int, 2> ends;
  if (pipe2(ends.data(), O_CLOEXEC) != 0) return true;  // read() then finds out
  const ssize_t copied = tee(pipe, ends[1], 1, SPLICE_F_NONBLOCK);
  close(ends[0]);
  close(ends[1]);
  return copied != 0;
}

bool FindsWriter(int pipe) {
  for (int i = 0; i < kTries; ++i) {
    if (HasWriter(pipe)) return true;
    std::this_thread::sleep_for(kBetweenTries);
  }
  return false;
}

/// Returns why `file` cannot be read, or "".
std::string WhyNotReadable(int file) {
  struct stat status;
  if (fstat(file, &status) != 0) return std::strerror(errno);
  if (S_ISDIR(status.st_mode)) return "it is a folder";
  if (S_ISFIFO(status.st_mode) && !FindsWriter(file)) return "it is a pipe that nobody writes to";
  if (fcntl(file, F_SETFL, fcntl(file, F_GETFL) & ~O_NONBLOCK) != 0) return std::strerror(errno);
  return "";
}

Status Unreadable(const std::string& path, const std::string& why) {
  return Status::Invalid("Cannot read " + path + ": " + why);
}

}  // namespace

std::string LookedIn(const std::string& path) {
  std::error_code unknown;
  const std::filesystem::path folder = std::filesystem::current_path(unknown);
  if (path.empty() || path[0] == '/' || folder.empty()) return "";
  return " (looked in " + folder.string() + ")";
}

std::string FileNotFound(const std::string& path) {
  return "File not found: " + path + LookedIn(path);
}

Result<int> OpenToRead(const std::string& path) {
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file < 0 && errno == ENOENT) return Status::Invalid(FileNotFound(path));
  if (file < 0) return Unreadable(path, std::strerror(errno));
  const std::string why = WhyNotReadable(file);
  if (why.empty()) return file;
  close(file);
  return Unreadable(path, why);
}

Result<std::string> ReadText(const std::string& path) {
  const Result<int> file = OpenToRead(path);
  if (!file.ok()) return file.status();
  std::string text, why;
  std::array<char, 1 << 16> piece;
  ssize_t size = 0;
  while ((size = read(file.value(), piece.data(), piece.size())) > 0) {
    text.append(piece.data(), static_cast<size_t>(size));
    if (text.size() > kMaxTextBytes) break;
  }
  if (size < 0) why = std::strerror(errno);
  if (size > 0) why = "it is larger than a GiB";
  close(file.value());
  return why.empty() ? Result<std::string>(text) : Unreadable(path, why);
}

}  // namespace layrub
