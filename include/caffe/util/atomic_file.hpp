#ifndef CAFFE_UTIL_ATOMIC_FILE_HPP_
#define CAFFE_UTIL_ATOMIC_FILE_HPP_

#include <functional>
#include <string>

#include "caffe/common.hpp"

namespace caffe {

/// A file that appears under its name only when it is complete. Until Commit, and if anything
/// fails, an existing file is untouched. A path that exists and is not a regular file (/dev/stdout,
/// a pipe) is written directly. If the path is a symbolic link, the file that it leads to is
/// replaced, unless kReplace is given. Links made by a user other than this one or root are refused
/// (WhyLinkIsRefused).
///
/// The data is first written to a new file <path>.tmp.<place>.<process id>.<random
/// number>-<number>, which is never opened through a link. The place is the host and its namespace
/// of process ids. Such files left by dead processes of the same place are removed when `path` is
/// written again.
///
/// Failures abort with a message that names the file. The temporary file is removed first. Not
/// thread safe.
class AtomicFile {
 public:
  enum Links { kFollow, kReplace };
  explicit AtomicFile(const string& path, Links links = kFollow);
  /// Removes the temporary file of an uncommitted write.
  ~AtomicFile();

  /// The file descriptor, open for reading and writing, initially at the beginning. Owned by this
  /// object.
  int fd() const { return fd_; }
  /// Appends all of `bytes`.
  void Write(const string& bytes);
  const string& path() const { return path_; }
  const string& temp_path() const { return temp_path_; }
  /// Flushes the data to disk. Commit does so too.
  void Sync();
  /// Gives the file its name, and flushes that to disk.
  void Commit();
  bool committed() const { return committed_; }
  /// Removes the temporary file and aborts: "Cannot write <path>: <reason>".
  [[noreturn]] void Fail(const string& reason);

 private:
  bool direct() const { return temp_path_ == path_; }

  string path_;
  string temp_path_;
  int fd_ = -1;
  bool synced_ = false;
  bool committed_ = false;

  DISABLE_COPY_AND_ASSIGN(AtomicFile);
};

/// Tests whether `path` can be written, by making and removing a temporary file. Returns "" or the
/// reason why not. Changes no existing file.
string WhyNotWritable(const string& path);

/// Returns the reason not to write `path` because of a symbolic link made by another user, or "".
/// Such a link could lead to any file that this user may write. A link made by this user or by root
/// is fine. Refused are:
/// - a `path` that is such a link;
/// - a `path` below such a link, if that link is in a folder where everybody may make links (one
///   with the sticky bit, as /tmp). In other folders, links to folders are followed.
string WhyLinkIsRefused(const string& path);

/// Removes temporary files in `folder` ("": the current one) that dead processes of this place
/// left, for the targets (names in the folder) for which `of` returns true.
void RemoveStrayFiles(const string& folder, const std::function<bool(const string& target)>& of);

}  // namespace caffe

#endif  // CAFFE_UTIL_ATOMIC_FILE_HPP_
