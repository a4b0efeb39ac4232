#ifndef CAFFE_UTIL_CONTROL_CHARACTERS_HPP_
#define CAFFE_UTIL_CONTROL_CHARACTERS_HPP_

#include <algorithm>
#include <cctype>
#include <string>

namespace caffe {

/// Returns whether `text` has control characters other than white space. Such text must not go into
/// a message.
inline bool HasControlCharacters(const std::string& text) {
  return std::any_of(text.begin(), text.end(), [](unsigned char byte) {
    return std::iscntrl(byte) != 0 && std::isspace(byte) == 0;
  });
}

}  // namespace caffe

#endif  // CAFFE_UTIL_CONTROL_CHARACTERS_HPP_
