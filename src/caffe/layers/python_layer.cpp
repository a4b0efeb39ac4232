#include "caffe/layers/python_layer.hpp"

#include <mutex>
#include <type_traits>
#include <utility>

#include "start_python.hpp"

namespace caffe {
namespace {

std::mutex maker_mutex;

template <typename Dtype>
PythonBodyMaker<Dtype>& Installed() {
  static PythonBodyMaker<Dtype> maker;
  return maker;
}

template <typename Dtype>
PythonBodyMaker<Dtype> Maker() {
  const std::lock_guard<std::mutex> lock(maker_mutex);
  return Installed<Dtype>();
}

}  // namespace

template <typename Dtype>
void PythonLayer<Dtype>::SetBodyMaker(PythonBodyMaker<Dtype> maker) {
  const std::lock_guard<std::mutex> lock(maker_mutex);
  Installed<Dtype>() = std::move(maker);
}

template <typename Dtype>
void PythonLayer<Dtype>::LayerSetUp(const vector<Blob<Dtype>*>& bottom,
                                    const vector<Blob<Dtype>*>& top) {
  const PythonParameter& param = this->layer_param_.python_param();
  const string& name = this->layer_param_.name();
  PythonBodyMaker<Dtype> maker = Maker<Dtype>();
  string problem = "Python's layers are of single precision";
  if (!maker && std::is_same<Dtype, float>::value) {
    problem = StartPython();
    maker = Maker<Dtype>();
  }
  CHECK(maker) << "Layer " << name << " is of class " << param.module() << "." << param.layer()
               << ", but this program has no Python: " << problem
               << ". Run the net from Python (import caffe), or install a "
                  "PythonLayer::SetBodyMaker.";
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

}  // namespace caffe
