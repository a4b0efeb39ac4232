#ifndef CAFFE_UTIL_FORK_FIELDS_HPP_
#define CAFFE_UTIL_FORK_FIELDS_HPP_

#include <string>

namespace caffe {

/// A prototxt field that a fork of Caffe has and caffe.proto does not.
struct ForkField {
  const char* message;  ///< without package
  const char* field;
  const char* fork;
  /// Why training, planning and testing give the same results without the field; null if they do
  /// not.
  const char* without_effect;
};

/// Returns null if no known fork has the field.
const ForkField* FindForkField(const std::string& message, const std::string& field);

}  // namespace caffe

#endif  // CAFFE_UTIL_FORK_FIELDS_HPP_
