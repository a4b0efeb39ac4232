#ifndef CAFFE_UTIL_LOADED_LIBRARIES_HPP_
#define CAFFE_UTIL_LOADED_LIBRARIES_HPP_

#include <string>
#include <vector>

namespace caffe {

/// The libraries of layers that the program has loaded, as the user has named them: for messages.
/// To be changed before the first net is made.
std::vector<std::string>& LoadedLibraries();

}  // namespace caffe

#endif  // CAFFE_UTIL_LOADED_LIBRARIES_HPP_
