#ifndef CAFFE_PYTHON_LAYER_HPP_
#define CAFFE_PYTHON_LAYER_HPP_

#include <functional>
#include <memory>
#include <vector>

#include "caffe/layer.hpp"
#include "caffe/layer_check.hpp"

namespace caffe {

/// What a Python layer does, as an object that whoever brings Python into the program makes: the
/// four methods of the class that python_param names. All values are on the host's side of the
/// blobs. What a method throws ends the pass as in any layer. Where several solvers train, each
/// calls bodies of its own, in a thread of its own.
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

/// Makes the body of `layer`, which owns it and outlives it: its layer_param().python_param() has
/// module, layer and param_str; its blobs() are the body's parameters, to be made in SetUp. Aborts
/// or throws where there is no such class.
template <typename Dtype>
using PythonBodyMaker = std::function<std::unique_ptr<PythonBody<Dtype>>(Layer<Dtype>* layer)>;

/// A layer whose work is done in Python (PythonBody). Nothing is known of its memory: it has no
/// traits, and a plan never runs it twice.
template <typename Dtype>
class PythonLayer : public Layer<Dtype> {
 public:
  /// Installs what makes the bodies of layers that are set up from now on, or, if empty, takes it
  /// away. Layers of single precision that are set up without one start a Python interpreter in the
  /// process, if libcaffe_python.so is beside the library; others abort. `check`
  /// looks for the class: a net asks it about each of these layers before it makes any layer, and
  /// lists all that is missing.
  static void SetBodyMaker(PythonBodyMaker<Dtype> maker, LayerCheck check = {});

  explicit PythonLayer(const LayerParameter& param) : Layer<Dtype>(param) {}
  void LayerSetUp(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;
  void Reshape(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;

  const char* type() const override { return "Python"; }
  /// Several solvers may have this layer: python_param.share_in_parallel.
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
