#ifndef CAFFE_LAYERS_START_PYTHON_HPP_
#define CAFFE_LAYERS_START_PYTHON_HPP_

#include "caffe/common.hpp"

namespace caffe {

/// Starts a Python interpreter in this process, by libcaffe_python.so beside this library, which
/// imports the package caffe: that installs the maker of Python layers' bodies. Empty, or why that
/// cannot be. Any thread may call it; the first call does the work.
string StartPython();

}  // namespace caffe

#endif  // CAFFE_LAYERS_START_PYTHON_HPP_
