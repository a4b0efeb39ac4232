#include "caffe/util/atomic_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>

namespace caffe {

namespace {

// fsync of a file or folder; 0 or errno. File systems that cannot sync a folder say EINVAL.
int Sync(const string& path, int flags) {
  const int fd = open(path.c_str(), flags | O_CLOEXEC);
  if (fd < 0) return errno;
  int error = fsync(fd) == 0 || errno == EINVAL ? 0 : errno;
  if (close(fd) != 0 && error == 0) error = errno;
  return error;
}

}  // namespace

AtomicFile::AtomicFile(const string& path) : path_(path), temp_path_(path) {
  namespace fs = std::filesystem;
  std::error_code ignored;
  const fs::file_status status = fs::status(path, ignored);
  if (fs::exists(status) && !fs::is_regular_file(status)) {
    if (fs::is_directory(status)) LOG(FATAL) << "Cannot write " << path << ": it is a folder";
    return;
  }
  if (fs::exists(status)) {
    // A rename asks only the folder for permission, so ask the file here.
    if (access(path.c_str(), W_OK) != 0)
      LOG(FATAL) << "Cannot write " << path << ": " << strerror(errno);
    // Through a link, so that the link stays one.
    path_ = fs::canonical(path, ignored).string();
  }
  temp_path_ = path_ + ".tmp." + std::to_string(getpid());
}

AtomicFile::~AtomicFile() {
  if (!committed_ && temp_path_ != path_) unlink(temp_path_.c_str());
}

void AtomicFile::Commit() {
  committed_ = true;
  if (temp_path_ == path_) return;
  if (const int error = Sync(temp_path_, O_RDONLY)) Fail(strerror(error));
  if (rename(temp_path_.c_str(), path_.c_str()) != 0) Fail(strerror(errno));
  const string folder = std::filesystem::path(path_).parent_path().string();
  if (const int error = Sync(folder.empty() ? "." : folder, O_RDONLY | O_DIRECTORY)) {
    LOG(WARNING) << path_ << " is written, but its folder could not be synced: " << strerror(error);
  }
}

void AtomicFile::Fail(const string& reason) {
  if (temp_path_ != path_) unlink(temp_path_.c_str());
  LOG(FATAL) << "Cannot write " << path_ << ": " << reason;
  abort();
}

}  // namespace caffe
