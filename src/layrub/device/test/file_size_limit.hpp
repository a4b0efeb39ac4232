#ifndef LAYRUB_DEVICE_TEST_FILE_SIZE_LIMIT_HPP_
#define LAYRUB_DEVICE_TEST_FILE_SIZE_LIMIT_HPP_

#include <signal.h>
#include <sys/resource.h>

namespace layrub::testing {

/// While it exists, files cannot grow beyond `bytes`, and the signal for that (SIGXFSZ) is ignored.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) {
    signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit limit{bytes, before_.rlim_max};
    setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FileSizeLimit() { setrlimit(RLIMIT_FSIZE, &before_); }
  FileSizeLimit(const FileSizeLimit&) = delete;
  FileSizeLimit& operator=(const FileSizeLimit&) = delete;

 private:
  rlimit before_;
};

}  // namespace layrub::testing

#endif  // LAYRUB_DEVICE_TEST_FILE_SIZE_LIMIT_HPP_
