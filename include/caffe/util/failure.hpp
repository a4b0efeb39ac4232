#ifndef CAFFE_UTIL_FAILURE_HPP_
#define CAFFE_UTIL_FAILURE_HPP_

#include <string>

namespace caffe {

class LayerParameter;

/// The file that is being processed.
struct CurrentFile {
  const std::string& path;
};

/// While an object exists, failures of its thread are reported together with what it names: the
/// layer at work, the file at work, or a "believed" file, which is read by a library that does not
/// verify it. Examples are a file mapped into memory (damage shows only when the operating system
/// finds no page), an HDF5 file and an image. Scopes nest; they cost a few stores. The strings must
/// outlive them.
class FailureScope {
 public:
  explicit FailureScope(const LayerParameter& layer);
  explicit FailureScope(const CurrentFile& file);
  explicit FailureScope(const char* believed_file);
  ~FailureScope();
  FailureScope(const FailureScope&) = delete;
  FailureScope& operator=(const FailureScope&) = delete;

 private:
  friend struct FailureScopes;
  const LayerParameter* layer_ = nullptr;
  const std::string* file_ = nullptr;
  const char* unverified_file_ = nullptr;
  const FailureScope* outer_;
};

/// The layer at work in this thread, for example "layer conv1 (Convolution)", or "".
std::string LayerAtWork();

/// For programs, called once, after google::InitGoogleLogging. A fatal message then ends the
/// process with `exit_code`, without stack trace and core dump. A line below it names the layer
/// (unless the message does), the file at work, and the solver if there are several. Signals:
/// - SIGSEGV, SIGBUS, SIGFPE and SIGABRT in a library that reads a damaged believed file end the
///   process likewise. Other crashes are left to the existing signal handlers.
/// - SIGTERM ends the process silently.
/// - A file that grows beyond its limit (SIGXFSZ) is a write error.
///
/// Without ExitOnFailure, in a process that hosts the library, such a crash remains a crash,
/// because a signal handler cannot throw.
void ExitOnFailure(int exit_code);

/// For short-running programs, before anything is logged: writes no log files to the temporary
/// folder. If --log_dir or GLOG_log_dir name a folder, log files are still written there.
void NoLogFilesByDefault();

}  // namespace caffe

#endif  // CAFFE_UTIL_FAILURE_HPP_
