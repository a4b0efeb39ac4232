#ifndef CAFFE_UTIL_CHECKSUM_HPP_
#define CAFFE_UTIL_CHECKSUM_HPP_

#include <cstddef>
#include <cstdint>

#include "caffe/common.hpp"
#include "layrub/base/status.hpp"

namespace caffe {

/// CRC-32 (that of zlib and PNG) of some bytes and then `bytes` more, where `crc` is that of the
/// first; 0 for none.
uint32_t Crc32(uint32_t crc, const void* data, size_t bytes);

struct FileChecksum {
  uint64_t bytes = 0;
  uint32_t crc32 = 0;
};

/// Of the whole file that `fd` has open for reading, wherever its position is; kInvalid with the
/// reason where it cannot be read.
layrub::Result<FileChecksum> ChecksumOf(int fd);
/// Of a regular file; kInvalid with path and reason. Neither a pipe nor a folder is opened.
layrub::Result<FileChecksum> ChecksumOf(const string& path);

}  // namespace caffe

#endif  // CAFFE_UTIL_CHECKSUM_HPP_
