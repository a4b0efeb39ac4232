#ifndef LAYRUB_DEVICE_TEST_FAILURES_THROW_HPP_
#define LAYRUB_DEVICE_TEST_FAILURES_THROW_HPP_

#include <stdexcept>
#include <string>

#include "layrub/device/failure.hpp"

namespace layrub::testing {

/// While it exists, failures (failure.hpp) of all threads throw std::runtime_error with their
/// message. Only one may exist at a time.
class FailuresThrow {
 public:
  FailuresThrow() {
    SetFailureHandler(
        [](const char*, int, const std::string& message) { throw std::runtime_error(message); });
  }
  ~FailuresThrow() { SetFailureHandler(nullptr); }
  FailuresThrow(const FailuresThrow&) = delete;
  FailuresThrow& operator=(const FailuresThrow&) = delete;
};

/// Returns the message of the failure that ends `action` in this thread, or "" if there is none.
template <typename Action>
std::string FailureOf(const Action& action) {
  const FailuresThrow scope;
  try {
    action();
  } catch (const std::runtime_error& failure) {
    return failure.what();
  }
  return "";
}

}  // namespace layrub::testing

#endif  // LAYRUB_DEVICE_TEST_FAILURES_THROW_HPP_
