#ifndef CAFFE_UTIL_HDF5_LIST_HPP_
#define CAFFE_UTIL_HDF5_LIST_HPP_

#include <string>
#include <vector>

namespace caffe {

/// Returns the files that the text file `source` names, one per line, in order. A line with blanks
/// that is not the name of a file may name several files, as in Caffe. Aborts if there are no files
/// or `source` is not text; the message starts with `what`, such as "Layer h: ".
std::vector<std::string> ReadHdf5List(const std::string& source, const std::string& what);

}  // namespace caffe

#endif  // CAFFE_UTIL_HDF5_LIST_HPP_
