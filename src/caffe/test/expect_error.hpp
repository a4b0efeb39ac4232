#ifndef CAFFE_TEST_EXPECT_ERROR_HPP_
#define CAFFE_TEST_EXPECT_ERROR_HPP_

#include <gtest/gtest.h>

#include <exception>
#include <string>

#include "caffe/common.hpp"
#include "caffe/error.hpp"

namespace caffe {

/// While it lives, failed checks of all threads throw Error; afterwards they end the process.
class ErrorsAreThrown {
 public:
  ErrorsAreThrown() { Caffe::set_throw_on_error(true); }
  ~ErrorsAreThrown() { Caffe::set_throw_on_error(false); }
  ErrorsAreThrown(const ErrorsAreThrown&) = delete;
  ErrorsAreThrown& operator=(const ErrorsAreThrown&) = delete;
};

/// Whether `action` ends with the error of a failed check whose message has a match of `pattern`, a
/// regular expression as in gtest's death tests; otherwise what came instead.
template <typename Action>
::testing::AssertionResult FailsWith(const Action& action, const std::string& pattern) {
  const std::string expected = "\nExpected: an error that matches \"" + pattern + "\"";
  try {
    const ErrorsAreThrown scope;
    action();
  } catch (const Error& error) {
    const ::testing::Matcher<const std::string&> matcher = ::testing::ContainsRegex(pattern);
    if (matcher.Matches(error.what())) return ::testing::AssertionSuccess();
    return ::testing::AssertionFailure() << expected << "\n   Error: " << error.what();
  } catch (const std::exception& other) {
    return ::testing::AssertionFailure() << expected << "\n   Other exception: " << other.what();
  }
  return ::testing::AssertionFailure() << expected << "\n   No check fails.";
}

}  // namespace caffe

/// Expects that a check fails in `statement`, be it in a thread of the library whose failures are
/// handed on, and that its message has a match of `pattern`. Objects live on in the state that
/// Caffe::set_throw_on_error describes.
#define EXPECT_ERROR(statement, pattern) \
  EXPECT_TRUE(::caffe::FailsWith([&] { statement; }, pattern))

#endif  // CAFFE_TEST_EXPECT_ERROR_HPP_
