#ifndef CAFFE_UTIL_FAILURE_HPP_
#define CAFFE_UTIL_FAILURE_HPP_

#include <string>

namespace caffe {

class LayerParameter;

/// The file whose contents are at work.
struct FileAtWork {
  const std::string& path;
};

/// While one lives, a failure of its thread is reported with what it names: the layer at work, the
/// file at work, or the file that is read by a library which believes it: one that is mapped into
/// memory, where damage shows only when the operating system finds no page, an HDF5 file, an image.
/// Scopes nest; they cost a few stores. The strings must outlive them.
class FailureScope {
 public:
  explicit FailureScope(const LayerParameter& layer);
  explicit FailureScope(const FileAtWork& file);
  explicit FailureScope(const char* believed_file);
  ~FailureScope();
  FailureScope(const FailureScope&) = delete;
  FailureScope& operator=(const FailureScope&) = delete;

 private:
  friend struct FailureScopes;
  const LayerParameter* layer_ = nullptr;
  const std::string* file_ = nullptr;
  const char* believed_file_ = nullptr;
  const FailureScope* outer_;
};

/// The layer at work in this thread, as "layer conv1 (Convolution)"; "" when there is none.
std::string LayerAtWork();

/// For programs, once, after google::InitGoogleLogging: a fatal message ends the process with
/// `exit_code`, without stack trace and core dump. A line below it names the layer at work, unless
/// the message does, the file at work, and the solver, where there are several. A library's crash
/// on a damaged file that it believes ends likewise, by handlers of SIGSEGV, SIGBUS, SIGFPE and
/// SIGABRT, and SIGTERM ends the process silently; a file that grows beyond its limit (SIGXFSZ) is
/// an error of the write; other crashes are left to the signal handlers that are there. Without
/// ExitOnFailure, in a process that hosts the library, such a crash stays one: no exception can be
/// thrown out of a signal handler.
void ExitOnFailure(int exit_code);

/// For programs that are done in a moment, before anything is logged: no log files in the temporary
/// folder. Where --log_dir or GLOG_log_dir name a folder for them, they are written all the same.
void NoLogFilesByDefault();

}  // namespace caffe

#endif  // CAFFE_UTIL_FAILURE_HPP_
