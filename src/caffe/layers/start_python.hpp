#ifndef CAFFE_LAYERS_START_PYTHON_HPP_
#define CAFFE_LAYERS_START_PYTHON_HPP_

#include "caffe/common.hpp"

namespace caffe {

/// Starts a Python interpreter in this process, with libcaffe_python.so beside this library. It
/// imports the package caffe, which installs the maker of Python layers' bodies. Returns an empty
/// string, or why that failed. Any thread may call it; the first call does the work.
string StartPython();

}  // namespace caffe

#endif  // CAFFE_LAYERS_START_PYTHON_HPP_
