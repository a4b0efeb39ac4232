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

/// What a fatal check says, where the process is to go on: the message, and after it the layer or
/// the file that was at work, as the log names them. Caffe::set_throw_on_error says in which state
/// it leaves objects.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// While one lives, failed checks of its thread throw Error; what they say is logged as an error.
class ThrowOnError {
 public:
  /// Who catches it may tell of it in another thread: it is the message alone, and is not logged.
  enum Unsaid { kUnsaid };

  ThrowOnError() : ThrowOnError(true) {}
  explicit ThrowOnError(Unsaid) : ThrowOnError(false) {}
  ~ThrowOnError();
  ThrowOnError(const ThrowOnError&) = delete;
  ThrowOnError& operator=(const ThrowOnError&) = delete;

 private:
  explicit ThrowOnError(bool said);

  bool outer_, outer_said_;
};

/// Whether a failed check of this thread throws; otherwise it ends the process, as glog's do.
bool ThrowsOnError();

/// The message of a failed CHECK or LOG(FATAL). Where a part of it throws, it is dropped. What is
/// streamed into a CHECK is for people, so it is the message: alone where it ends as a sentence
/// does, else with the values that were compared. A CHECK without it says which condition failed.
class FatalMessage : public std::ostringstream {
 public:
  /// `condition`: of a CHECK. `values`: what it compared, as "(1 vs. 2)".
  FatalMessage(const char* file, int line, const char* condition = nullptr, std::string values = "")
      : file_(file), line_(line), condition_(condition), values_(std::move(values)) {}
  std::ostream& stream() { return *this; }
  /// Throws or ends the process.
  [[noreturn]] void Deliver() const;

 private:
  std::string Text() const;

  const char* file_;
  int line_;
  const char* condition_;
  std::string values_;
};

/// Makes the message of a failed comparison from what glog says of it: `condition` (1 vs. 2).
struct FailedComparison {
  FatalMessage operator()(const char* file, int line, const google::CheckOpString& failed) const {
    const std::unique_ptr<std::string> text(failed.str_);
    return FatalMessage(file, line, condition, text->substr(std::strlen(condition) + 1));
  }
  const char* condition;
};

/// `FatalEnd() & message.stream() << part << part` delivers the message with all its parts.
struct FatalEnd {
  [[noreturn]] void operator&(const std::ostream& message) const {
    dynamic_cast<const FatalMessage&>(message).Deliver();
  }
};
/// In glog's conditions: `condition ? (void)0 : LogMessageVoidify() & FatalEnd() & ...`.
inline FatalEnd operator&(const google::LogMessageVoidify&, FatalEnd end) { return end; }

/// `pointer`, which must not be null.
template <typename Pointer>
Pointer CheckNotNull(const char* file, int line, const char* what, Pointer&& pointer) {
  if (pointer == nullptr) FatalEnd() & FatalMessage(file, line).stream() << what;
  return static_cast<Pointer&&>(pointer);
}

}  // namespace caffe

// glog's LOG(FATAL) and CHECKs go through FatalMessage from here on: glog's own end the process in
// a destructor, which may not throw, least of all where a part of the message has thrown.
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
