#ifndef CAFFE_UTIL_ATOMIC_FILE_HPP_
#define CAFFE_UTIL_ATOMIC_FILE_HPP_

#include <functional>
#include <string>

#include "caffe/common.hpp"

namespace caffe {

/// A file that appears under its name only when it is complete. Until Commit, and if anything
/// fails, a file that was there before is untouched. A path that exists and is no regular file
/// (/dev/stdout, a pipe) is written directly. Of a symbolic link the file that it leads to is
/// replaced, unless the link is to be; one that neither this user nor root has made is refused
/// (WhyLinkIsRefused).
///
/// What is written meanwhile is <path>.tmp.<place>.<process id>.<random number>-<number>, a file
/// that is made anew and never opened through a link. The place is the host and its namespace of
/// process ids. Those that processes of this place left which are dead are removed when `path` is
/// written again.
///
/// Failures abort with a message that names the file; the temporary file is removed first. Not
/// thread safe.
class AtomicFile {
 public:
  enum Links { kFollow, kReplace };
  explicit AtomicFile(const string& path, Links links = kFollow);
  /// Removes the temporary file of an uncommitted write.
  ~AtomicFile();

  /// Open for reading and writing, at its beginning; it stays this object's.
  int fd() const { return fd_; }
  /// Appends all of `bytes`.
  void Write(const string& bytes);
  const string& path() const { return path_; }
  const string& temp_path() const { return temp_path_; }
  /// Puts what has been written on disk. Commit does, too.
  void Sync();
  /// Gives the file its name, and puts that on disk.
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

/// Makes and removes the temporary file of an AtomicFile: "" if that works, or the reason why not.
/// Touches nothing that is there.
string WhyNotWritable(const string& path);

/// Returns the reason not to write `path` because of a symbolic link made by another user, or "".
/// Such a link could lead to any file that this user may write. A link made by this user or by root
/// is fine. Refused are:
/// - a `path` that is such a link;
/// - a `path` below such a link, if that link is in a folder where everybody may make links (one
///   with the sticky bit, as /tmp). In other folders, links to folders are followed.
string WhyLinkIsRefused(const string& path);

/// Removes the temporary files in `folder` ("": the current one) that processes of this place left
/// which are dead, of those targets (names in the folder) that `of` says.
void RemoveStrayFiles(const string& folder, const std::function<bool(const string& target)>& of);

}  // namespace caffe

#endif  // CAFFE_UTIL_ATOMIC_FILE_HPP_
