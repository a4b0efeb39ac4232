#ifndef CAFFE_PYTHON_CLASS_HPP_
#define CAFFE_PYTHON_CLASS_HPP_

#include <functional>

#include "caffe/common.hpp"

namespace caffe {

class LayerParameter;

/// Says why there is no class that a Python layer could be of, with the layer's name; "" where
/// there is one.
using PythonClassCheck = std::function<string(const LayerParameter& layer)>;

/// What the Python layer has installed; "" without it.
string PythonClassProblem(const LayerParameter& layer);
void SetPythonClassCheck(PythonClassCheck check);

}  // namespace caffe

#endif  // CAFFE_PYTHON_CLASS_HPP_
