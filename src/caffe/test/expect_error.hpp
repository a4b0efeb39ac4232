#ifndef CAFFE_TEST_EXPECT_ERROR_HPP_
#define CAFFE_TEST_EXPECT_ERROR_HPP_

#include <gtest/gtest.h>

#include <exception>
#include <string>

#include "caffe/common.hpp"
#include "caffe/error.hpp"

namespace caffe {

/// While this object exists, failed checks in all threads throw Error; afterwards they end the
/// process.
class ThrowErrorsScope {
 public:
  ThrowErrorsScope() { Caffe::set_throw_on_error(true); }
  ~ThrowErrorsScope() { Caffe::set_throw_on_error(false); }
  ThrowErrorsScope(const ThrowErrorsScope&) = delete;
  ThrowErrorsScope& operator=(const ThrowErrorsScope&) = delete;
};

/// Returns success if `action` throws the error of a failed check whose message has a match of
/// `pattern`, a regular expression as in gtest's death tests; otherwise a failure that describes
/// what happened.
template <typename Action>
::testing::AssertionResult FailsWith(const Action& action, const std::string& pattern) {
  const std::string expected = "\nExpected: an error that matches \"" + pattern + "\"";
  try {
    const ThrowErrorsScope scope;
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

/// Expects that a check fails in `statement` (also in a library thread whose failures are passed
/// on) and that its message has a match of `pattern`. Afterwards objects are in the state that
/// Caffe::set_throw_on_error describes.
#define EXPECT_ERROR(statement, pattern) \
  EXPECT_TRUE(::caffe::FailsWith([&] { statement; }, pattern))

#endif  // CAFFE_TEST_EXPECT_ERROR_HPP_
