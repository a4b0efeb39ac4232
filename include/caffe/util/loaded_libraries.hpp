#ifndef CAFFE_UTIL_LOADED_LIBRARIES_HPP_
#define CAFFE_UTIL_LOADED_LIBRARIES_HPP_

#include <string>
#include <vector>

namespace caffe {

/// The layer libraries that the program has loaded, as named by the user, for messages. To be
/// changed only before the first net is made.
std::vector<std::string>& LoadedLibraries();

}  // namespace caffe

#endif  // CAFFE_UTIL_LOADED_LIBRARIES_HPP_
