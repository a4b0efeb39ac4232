#ifndef CAFFE_ERROR_HPP_
#define CAFFE_ERROR_HPP_

#include <glog/logging.h>

#include <cstring>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <string>
#include <utility>

namespace caffe {

/// The exception that a failed fatal check throws if the process is to continue. It holds the
/// message, followed by the layer or the file that was being processed, as in the log. See
/// Caffe::set_throw_on_error for the state of objects afterwards.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// While an object exists, failed checks of its thread throw Error. The message is also logged as
/// an error.
class ThrowOnError {
 public:
  /// Do not log the message, nor add the layer or file to it: the catcher reports it, perhaps in
  /// another thread.
  enum NotLogged { kNotLogged };

  ThrowOnError() : ThrowOnError(true) {}
  explicit ThrowOnError(NotLogged) : ThrowOnError(false) {}
  ~ThrowOnError();
  ThrowOnError(const ThrowOnError&) = delete;
  ThrowOnError& operator=(const ThrowOnError&) = delete;

 private:
  explicit ThrowOnError(bool said);

  bool outer_, outer_logged_;
};

/// Whether a failed check of this thread throws. Otherwise it ends the process, as in glog.
bool ThrowsOnError();

/// The message of a failed CHECK or LOG(FATAL). If an operand of << throws, the message is dropped.
/// Text streamed into a CHECK is written for people, so it is the message. If it does not end like
/// a sentence, the compared values are appended. Without streamed text, the message says which
/// condition failed.
class FatalMessage : public std::ostringstream {
 public:
  /// `condition` is the condition of a CHECK, `values` the values that it compared: "(1 vs. 2)".
  FatalMessage(const char* file, int line, const char* condition = nullptr, std::string values = "")
      : file_(file), line_(line), condition_(condition), values_(std::move(values)) {}
  std::ostream& stream() { return *this; }
  /// Throws, or ends the process.
  [[noreturn]] void Deliver() const;

 private:
  std::string Text() const;

  const char* file_;
  int line_;
  const char* condition_;
  std::string values_;
};

/// Makes the message of a failed comparison from glog's text "`condition` (1 vs. 2)".
struct FailedComparison {
  FatalMessage operator()(const char* file, int line, const google::CheckOpString& failed) const {
    const std::unique_ptr<std::string> text(failed.str_);
    return FatalMessage(file, line, condition, text->substr(std::strlen(condition) + 1));
  }
  const char* condition;
};

/// `FatalEnd() & message.stream() << part << part` delivers the complete message.
struct FatalEnd {
  [[noreturn]] void operator&(const std::ostream& message) const {
    dynamic_cast<const FatalMessage&>(message).Deliver();
  }
};
/// Makes glog's `condition ? (void)0 : LogMessageVoidify() & FatalEnd() & ...` compile.
inline FatalEnd operator&(const google::LogMessageVoidify&, FatalEnd end) { return end; }

/// Returns `pointer`, which must not be null.
template <typename Pointer>
Pointer CheckNotNull(const char* file, int line, const char* what, Pointer&& pointer) {
  if (pointer == nullptr) FatalEnd() & FatalMessage(file, line).stream() << what;
  return static_cast<Pointer&&>(pointer);
}

}  // namespace caffe

// From here on, glog's LOG(FATAL) and CHECKs go through FatalMessage. glog's own versions end the
// process in a destructor, which must not throw, in particular not while an exception from an
// operand of << is in flight.
#undef COMPACT_GOOGLE_LOG_FATAL
#define COMPACT_GOOGLE_LOG_FATAL ::caffe::FatalEnd() & ::caffe::FatalMessage(__FILE__, __LINE__)
#undef CHECK
#define CHECK(condition)                                              \
  (condition) ? static_cast<void>(0)                                  \
              : ::google::LogMessageVoidify() & ::caffe::FatalEnd() & \
                    ::caffe::FatalMessage(__FILE__, __LINE__, #condition).stream()
#undef CHECK_OP
#define CHECK_OP(name, op, val1, val2) \
  CHECK_OP_LOG(name, op, val1, val2,   \
               ::caffe::FatalEnd() & ::caffe::FailedComparison{#val1 " " #op " " #val2})
#undef CHECK_NOTNULL
#define CHECK_NOTNULL(value) \
  ::caffe::CheckNotNull(__FILE__, __LINE__, "'" #value "' Must be non NULL", (value))

#endif  // CAFFE_ERROR_HPP_
