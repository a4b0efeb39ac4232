#ifndef CAFFE_UTIL_FILE_ID_HPP_
#define CAFFE_UTIL_FILE_ID_HPP_

#include <sys/stat.h>

#include <string>
#include <utility>

namespace caffe {

/// Identifies a file independently of its name: device and inode. Unique while the file is open.
using FileId = std::pair<dev_t, ino_t>;

/// Returns {0, 0} if there is no such file.
inline FileId FileIdOf(const std::string& path) {
  struct stat file;
  if (stat(path.c_str(), &file) != 0) return {};
  return {file.st_dev, file.st_ino};
}

}  // namespace caffe

#endif  // CAFFE_UTIL_FILE_ID_HPP_
