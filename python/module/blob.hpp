#ifndef PYTHON_MODULE_BLOB_HPP_
#define PYTHON_MODULE_BLOB_HPP_

#include <pybind11/pybind11.h>

#include <memory>
#include <vector>

#include "caffe/layer.hpp"

namespace pycaffe {

namespace py = pybind11;
using caffe::Blob;
using caffe::Layer;

/// caffe.Blob: a blob that Python and the library own together, or one that is lent to a Python
/// layer, until its net ends (Forget).
class BlobHandle {
 public:
  explicit BlobHandle(boost::shared_ptr<Blob<float>> blob)
      : owned_(std::move(blob)), blob_(owned_.get()) {}
  explicit BlobHandle(Blob<float>* lent) : blob_(lent) {}
  void Forget() { blob_ = nullptr; }
  /// Throws where it is forgotten.
  Blob<float>& get() const;

 private:
  boost::shared_ptr<Blob<float>> owned_;
  Blob<float>* blob_;
};
using BlobPtr = std::shared_ptr<BlobHandle>;

/// The shape that arguments give, one integer each. Throws TypeError where they are others.
std::vector<int> ShapeOf(const py::args& dims);

/// caffe.Layer: a layer of a net, and the base of the classes that python_param names. Their
/// objects are tied to the library's layer when that is set up, until it ends.
class LayerHandle {
 public:
  LayerHandle() = default;
  explicit LayerHandle(boost::shared_ptr<Layer<float>> layer)
      : owned_(std::move(layer)), layer_(owned_.get()) {}
  virtual ~LayerHandle() = default;
  void Tie(Layer<float>* layer) { layer_ = layer; }
  /// Throws where there is none.
  Layer<float>& get() const;

 private:
  boost::shared_ptr<Layer<float>> owned_;
  Layer<float>* layer_ = nullptr;
};

void DefineBlobs(py::module_* module);
void DefineLayers(py::module_* module);
/// The Python object of a layer: for type Python the user's.
py::object LayerObject(const boost::shared_ptr<Layer<float>>& layer);

}  // namespace pycaffe

PYBIND11_DECLARE_HOLDER_TYPE(T, boost::shared_ptr<T>)

#endif  // PYTHON_MODULE_BLOB_HPP_
