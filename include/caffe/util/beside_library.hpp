#ifndef CAFFE_UTIL_BESIDE_LIBRARY_HPP_
#define CAFFE_UTIL_BESIDE_LIBRARY_HPP_

#include <string>

namespace caffe {

/// The path of a file of this name in the folder of libcaffe, or of the program where that is a
/// part of it.
std::string BesideLibrary(const std::string& name);

}  // namespace caffe

#endif  // CAFFE_UTIL_BESIDE_LIBRARY_HPP_
