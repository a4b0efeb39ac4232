#ifndef CAFFE_ERROR_HPP_
#define CAFFE_ERROR_HPP_

#include <glog/logging.h>

#include <sstream>
#include <stdexcept>
#include <string>

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
  ThrowOnError();
  ~ThrowOnError();
  ThrowOnError(const ThrowOnError&) = delete;
  ThrowOnError& operator=(const ThrowOnError&) = delete;

 private:
  bool outer_;
};

/// Whether a failed check of this thread throws; otherwise it ends the process, as glog's do.
bool ThrowsOnError();

/// The message of a failed CHECK or LOG(FATAL); its end throws or ends the process.
class FatalMessage {
 public:
  FatalMessage(const char* file, int line) : file_(file), line_(line) {}
  FatalMessage(const char* file, int line, const google::CheckOpString& failed)
      : file_(file), line_(line) {
    text_ << "Check failed: " << *failed.str_ << " ";
    delete failed.str_;
  }
  [[noreturn]] ~FatalMessage() noexcept(false);
  FatalMessage(const FatalMessage&) = delete;
  FatalMessage& operator=(const FatalMessage&) = delete;
  std::ostream& stream() { return text_; }

 private:
  const char* file_;
  int line_;
  std::ostringstream text_;
};

/// `pointer`, which must not be null.
template <typename Pointer>
Pointer CheckNotNull(const char* file, int line, const char* what, Pointer&& pointer) {
  if (pointer == nullptr) FatalMessage(file, line).stream() << what;
  return static_cast<Pointer&&>(pointer);
}

}  // namespace caffe

// glog's LOG(FATAL) and CHECKs go through FatalMessage from here on: glog's own end the process in
// a destructor that may not throw.
#undef COMPACT_GOOGLE_LOG_FATAL
#define COMPACT_GOOGLE_LOG_FATAL ::caffe::FatalMessage(__FILE__, __LINE__)
#undef CHECK_OP
#define CHECK_OP(name, op, val1, val2) CHECK_OP_LOG(name, op, val1, val2, ::caffe::FatalMessage)
#undef CHECK_NOTNULL
#define CHECK_NOTNULL(value) \
  ::caffe::CheckNotNull(__FILE__, __LINE__, "'" #value "' Must be non NULL", (value))

#endif  // CAFFE_ERROR_HPP_
