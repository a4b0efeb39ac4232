#ifndef CAFFE_UTIL_ATOMIC_FILE_HPP_
#define CAFFE_UTIL_ATOMIC_FILE_HPP_

#include <string>

#include "caffe/common.hpp"

namespace caffe {

/// A file that appears under its name only when it is complete. The caller writes and closes
/// temp_path(), then calls Commit(), which puts the bytes on disk (fsync) and renames. Until then,
/// and if anything fails, a file that was there before is untouched. A path that exists and is no
/// regular file (/dev/stdout, a pipe) is written directly.
///
/// Failures abort with a message that names the file; the temporary file is removed first.
class AtomicFile {
 public:
  explicit AtomicFile(const string& path);
  /// Removes the temporary file of an uncommitted write.
  ~AtomicFile();

  const string& temp_path() const { return temp_path_; }
  void Commit();
  /// Removes the temporary file and aborts: "Cannot write <path>: <reason>".
  [[noreturn]] void Fail(const string& reason);

 private:
  string path_;
  string temp_path_;
  bool committed_ = false;

  DISABLE_COPY_AND_ASSIGN(AtomicFile);
};

}  // namespace caffe

#endif  // CAFFE_UTIL_ATOMIC_FILE_HPP_
