#ifndef CAFFE_TEST_MOST_BYTES_HPP_
#define CAFFE_TEST_MOST_BYTES_HPP_

#include <sys/resource.h>

#include <cstdint>

namespace caffe {

constexpr int64_t kMiB = int64_t{1} << 20;

/// Returns the peak memory of the process, in bytes.
inline int64_t MostBytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return int64_t{usage.ru_maxrss} << 10;
}

}  // namespace caffe

#endif  // CAFFE_TEST_MOST_BYTES_HPP_
