#ifndef CAFFE_PYTHON_LAYER_HPP_
#define CAFFE_PYTHON_LAYER_HPP_

#include <functional>
#include <memory>
#include <vector>

#include "caffe/layer.hpp"
#include "caffe/layer_check.hpp"

namespace caffe {

/// The methods of the class that python_param names, as a C++ object. Made by the code that brings
/// Python into the program. All values are on the host side of the blobs. An exception from a
/// method ends the pass, as in any layer. If several solvers train, each calls its own bodies in
/// its own thread.
template <typename Dtype>
class PythonBody {
 public:
  virtual ~PythonBody() = default;
  virtual void SetUp(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) = 0;
  virtual void Reshape(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) = 0;
  virtual void Forward(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) = 0;
  virtual void Backward(const vector<Blob<Dtype>*>& top, const vector<bool>& propagate_down,
                        const vector<Blob<Dtype>*>& bottom) = 0;
};

/// Makes the body of `layer`, which owns the body and outlives it. layer_param().python_param() has
/// module, layer and param_str; the layer's blobs() are the body's parameters, to be created in
/// SetUp. Aborts or throws if there is no such class.
template <typename Dtype>
using PythonBodyMaker = std::function<std::unique_ptr<PythonBody<Dtype>>(Layer<Dtype>* layer)>;

/// A layer that is implemented in Python (PythonBody). Its use of memory is unknown: it has no
/// traits, and a plan never recomputes it.
template <typename Dtype>
class PythonLayer : public Layer<Dtype> {
 public:
  /// Installs the maker of the bodies of layers that are set up from now on; an empty `maker`
  /// removes it. Without a maker, a layer of single precision starts a Python interpreter in the
  /// process if libcaffe_python.so is beside the library; otherwise setting up the layer aborts. A
  /// net calls `check` for each of its Python layers before it makes any layer, and lists all
  /// classes that are missing.
  static void SetBodyMaker(PythonBodyMaker<Dtype> maker, LayerCheck check = {});

  explicit PythonLayer(const LayerParameter& param) : Layer<Dtype>(param) {}
  void LayerSetUp(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;
  void Reshape(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;

  const char* type() const override { return "Python"; }
  /// Whether several solvers may share this layer: python_param.share_in_parallel.
  bool ShareInParallel() const { return this->layer_param_.python_param().share_in_parallel(); }

 protected:
  void Forward_cpu(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;
  void Backward_cpu(const vector<Blob<Dtype>*>& top, const vector<bool>& propagate_down,
                    const vector<Blob<Dtype>*>& bottom) override;

 private:
  std::unique_ptr<PythonBody<Dtype>> body_;
};

}  // namespace caffe

#endif  // CAFFE_PYTHON_LAYER_HPP_
