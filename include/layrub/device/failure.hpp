#ifndef LAYRUB_DEVICE_FAILURE_HPP_
#define LAYRUB_DEVICE_FAILURE_HPP_

#include <string>

namespace layrub {

/// Handles an error from which the caller cannot recover. `message` is one sentence, reported at
/// `line` of `file`. A handler must end the process or throw.
using FailureHandler = void (*)(const char* file, int line, const std::string& message);

/// Sets the handler. Null: a failure is glog's LOG(FATAL). libcaffe sets its own when it is loaded,
/// which throws caffe::Error if the program has asked for that (caffe::Caffe::set_throw_on_error).
void SetFailureHandler(FailureHandler handler);

/// Calls the failure handler. Does not return.
[[noreturn]] void Fail(const std::string& message, const char* file = __builtin_FILE(),
                       int line = __builtin_LINE());

/// As Fail, with what the system says about errno after `message`.
[[noreturn]] void FailWithErrno(const std::string& message, const char* file = __builtin_FILE(),
                                int line = __builtin_LINE());

}  // namespace layrub

#endif  // LAYRUB_DEVICE_FAILURE_HPP_
