#ifndef CAFFE_UTIL_HDF5_LIST_HPP_
#define CAFFE_UTIL_HDF5_LIST_HPP_

#include <string>
#include <vector>

namespace caffe {

/// The files that a text file names, one in each line, in its order; or several, as Caffe takes
/// them, where a line with blanks is the name of none. Aborts where there are none, or where
/// `source` is no text; `what` begins the message: "Layer h: ".
std::vector<std::string> ReadHdf5List(const std::string& source, const std::string& what);

}  // namespace caffe

#endif  // CAFFE_UTIL_HDF5_LIST_HPP_
