#ifndef CAFFE_UTIL_CHECKSUM_HPP_
#define CAFFE_UTIL_CHECKSUM_HPP_

#include <cstddef>
#include <cstdint>

#include "caffe/common.hpp"
#include "layrub/base/status.hpp"

namespace caffe {

/// Returns the CRC-32 (that of zlib and PNG) of earlier data followed by `bytes` more. `crc` is the
/// CRC-32 of the earlier data, 0 if there is none.
uint32_t Crc32(uint32_t crc, const void* data, size_t bytes);

struct FileChecksum {
  uint64_t bytes = 0;
  uint32_t crc32 = 0;
};

/// Returns the checksum of the whole file that `fd` has open for reading, regardless of its
/// position. Returns kInvalid with the reason if it cannot be read.
layrub::Result<FileChecksum> ChecksumOf(int fd);
/// Returns the checksum of a regular file. Returns kInvalid with path and reason if it cannot be
/// read. Does not open pipes and folders.
layrub::Result<FileChecksum> ChecksumOf(const string& path);

}  // namespace caffe

#endif  // CAFFE_UTIL_CHECKSUM_HPP_
