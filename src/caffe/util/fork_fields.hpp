#ifndef CAFFE_UTIL_FORK_FIELDS_HPP_
#define CAFFE_UTIL_FORK_FIELDS_HPP_

#include <string>

namespace caffe {

/// A field of a prototxt that a fork of Caffe knows, and caffe.proto does not.
struct ForkField {
  const char* message;  ///< without package
  const char* field;
  const char* fork;
  /// Why training, planning and testing are the same without it; nullptr where they are not.
  const char* without_effect;
};

/// Null where no fork that is known here has it.
const ForkField* FindForkField(const std::string& message, const std::string& field);

}  // namespace caffe

#endif  // CAFFE_UTIL_FORK_FIELDS_HPP_
