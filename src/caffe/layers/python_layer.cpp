#include "caffe/layers/python_layer.hpp"

#include <mutex>
#include <type_traits>
#include <utility>

#include "caffe/layer_axes.hpp"
#include "start_python.hpp"

namespace caffe {
namespace {

std::mutex maker_mutex;

template <typename Dtype>
struct Python {
  PythonBodyMaker<Dtype> maker;
  LayerCheck check;
};

template <typename Dtype>
Python<Dtype>& Installed() {
  static Python<Dtype> python;
  return python;
}

/// Returns what is installed; if nothing is, starts an interpreter. If that fails, `problem` says
/// why.
template <typename Dtype>
Python<Dtype> FindPython(string* problem) {
  const auto installed = [] {
    const std::lock_guard<std::mutex> lock(maker_mutex);
    return Installed<Dtype>();
  };
  Python<Dtype> python = installed();
  *problem = "Python's layers are of single precision";
  if (!python.maker && std::is_same<Dtype, float>::value) {
    *problem = StartPython();
    python = installed();
  }
  return python;
}

string NoPythonMessage(const LayerParameter& layer, const string& problem) {
  const PythonParameter& param = layer.python_param();
  return "Layer " + layer.name() + " is of class " + param.module() + "." + param.layer() +
         ", but this program has no Python: " + problem +
         ". Run the net from Python (import caffe), or install a PythonLayer::SetBodyMaker.";
}

string PythonClassProblem(const LayerParameter& layer) {
  string problem;
  const Python<float> python = FindPython<float>(&problem);
  if (!python.maker) return NoPythonMessage(layer, problem);
  return python.check ? python.check(layer) : "";
}

const bool check_installed = (SetLayerCheck("Python", PythonClassProblem), true);

}  // namespace

template <typename Dtype>
void PythonLayer<Dtype>::SetBodyMaker(PythonBodyMaker<Dtype> maker, LayerCheck check) {
  const std::lock_guard<std::mutex> lock(maker_mutex);
  Installed<Dtype>() = {std::move(maker), std::move(check)};
}

template <typename Dtype>
void PythonLayer<Dtype>::LayerSetUp(const vector<Blob<Dtype>*>& bottom,
                                    const vector<Blob<Dtype>*>& top) {
  const PythonParameter& param = this->layer_param_.python_param();
  const string& name = this->layer_param_.name();
  string problem;
  const PythonBodyMaker<Dtype> maker = FindPython<Dtype>(&problem).maker;
  CHECK(maker) << NoPythonMessage(this->layer_param_, problem);
  body_ = maker(this);
  CHECK(body_) << "Layer " << name << ": there is no class " << param.module() << "."
               << param.layer() << ".";
  body_->SetUp(bottom, top);
  this->param_propagate_down_.resize(this->blobs_.size(), true);
}

template <typename Dtype>
void PythonLayer<Dtype>::Reshape(const vector<Blob<Dtype>*>& bottom,
                                 const vector<Blob<Dtype>*>& top) {
  body_->Reshape(bottom, top);
}

template <typename Dtype>
void PythonLayer<Dtype>::Forward_cpu(const vector<Blob<Dtype>*>& bottom,
                                     const vector<Blob<Dtype>*>& top) {
  body_->Forward(bottom, top);
}

template <typename Dtype>
void PythonLayer<Dtype>::Backward_cpu(const vector<Blob<Dtype>*>& top,
                                      const vector<bool>& propagate_down,
                                      const vector<Blob<Dtype>*>& bottom) {
  body_->Backward(top, propagate_down, bottom);
}

INSTANTIATE_CLASS(PythonLayer);
REGISTER_LAYER_CLASS(Python);
REGISTER_NO_LAYER_AXES(Python, "nothing is known of what it computes");

}  // namespace caffe
