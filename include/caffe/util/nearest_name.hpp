#ifndef CAFFE_UTIL_NEAREST_NAME_HPP_
#define CAFFE_UTIL_NEAREST_NAME_HPP_

#include <string>
#include <vector>

namespace caffe {

/// The one of `known` that is most like `name`, by Levenshtein's distance; "" where none is like
/// it. Of several the first.
std::string NearestName(const std::string& name, const std::vector<std::string>& known);

/// "; did you mean \"Convolution\"?", or "" where none is like it.
std::string DidYouMean(const std::string& name, const std::vector<std::string>& known);

}  // namespace caffe

#endif  // CAFFE_UTIL_NEAREST_NAME_HPP_
