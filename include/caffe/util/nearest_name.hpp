#ifndef CAFFE_UTIL_NEAREST_NAME_HPP_
#define CAFFE_UTIL_NEAREST_NAME_HPP_

#include <string>
#include <vector>

namespace caffe {

/// Returns the entry of `known` that is most similar to `name` by Levenshtein distance, the first
/// of several, or "" if none is similar.
std::string NearestName(const std::string& name, const std::vector<std::string>& known);

/// Returns "; did you mean \"Convolution\"?", for example, or "" if no entry is similar.
std::string DidYouMean(const std::string& name, const std::vector<std::string>& known);

}  // namespace caffe

#endif  // CAFFE_UTIL_NEAREST_NAME_HPP_
