#include "caffe/python_class.hpp"

#include <utility>

namespace caffe {

namespace {

PythonClassCheck& InstalledCheck() {
  static PythonClassCheck check;
  return check;
}

}  // namespace

string PythonClassProblem(const LayerParameter& layer) {
  return InstalledCheck() ? InstalledCheck()(layer) : "";
}

void SetPythonClassCheck(PythonClassCheck check) { InstalledCheck() = std::move(check); }

}  // namespace caffe
