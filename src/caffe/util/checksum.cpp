#include "caffe/util/checksum.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <cerrno>
#include <cstring>

#include "layrub/base/input.hpp"

namespace caffe {

using layrub::Result;
using layrub::Status;

uint32_t Crc32(uint32_t crc, const void* data, size_t bytes) {
  return static_cast<uint32_t>(crc32_z(crc, static_cast<const Bytef*>(data), bytes));
}

Result<FileChecksum> ChecksumOf(int fd) {
  vector<char> buffer(size_t{1} << 20);
  FileChecksum checksum;
  while (true) {
    const ssize_t got = pread(fd, buffer.data(), buffer.size(), static_cast<off_t>(checksum.bytes));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return Status::Invalid(strerror(errno));
    if (got == 0) return checksum;
    checksum.crc32 = Crc32(checksum.crc32, buffer.data(), static_cast<size_t>(got));
    checksum.bytes += static_cast<uint64_t>(got);
  }
}

Result<FileChecksum> ChecksumOf(const string& path) {
  const int fd =
      open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);  // a pipe may have no writer
  if (fd < 0) {
    return Status::Invalid(errno == ENOENT ? layrub::FileNotFound(path)
                                           : "Cannot read " + path + ": " + strerror(errno));
  }
  struct stat status;
  Result<FileChecksum> checksum = Status::Invalid("it is no regular file");
  if (fstat(fd, &status) == 0 && S_ISREG(status.st_mode)) checksum = ChecksumOf(fd);
  close(fd);
  if (!checksum.ok())
    return Status::Invalid("Cannot read " + path + ": " + checksum.status().message);
  return checksum;
}

}  // namespace caffe
