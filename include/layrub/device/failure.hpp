#ifndef LAYRUB_DEVICE_FAILURE_HPP_
#define LAYRUB_DEVICE_FAILURE_HPP_

#include <string>

namespace layrub {

/// What is to happen when something fails that the caller cannot mend: `message` is one sentence,
/// said at `line` of `file`. It ends the process or throws.
using FailureHandler = void (*)(const char* file, int line, const std::string& message);

/// Without one (null) a failure is glog's LOG(FATAL). libcaffe's, set when it is loaded, throws
/// caffe::Error where the host of the library wants that (caffe::Caffe::set_throw_on_error).
void SetFailureHandler(FailureHandler handler);

/// Does not return: see FailureHandler.
[[noreturn]] void Fail(const std::string& message, const char* file = __builtin_FILE(),
                       int line = __builtin_LINE());

/// `message`, and what the system says about errno.
[[noreturn]] void FailWithErrno(const std::string& message, const char* file = __builtin_FILE(),
                                int line = __builtin_LINE());

}  // namespace layrub

#endif  // LAYRUB_DEVICE_FAILURE_HPP_
