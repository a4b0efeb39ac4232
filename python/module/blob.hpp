#ifndef PYTHON_MODULE_BLOB_HPP_
#define PYTHON_MODULE_BLOB_HPP_

#include <pybind11/pybind11.h>

#include <vector>

#include "caffe/layer.hpp"
#include "exported.hpp"

namespace pycaffe {

using caffe::Blob;
using caffe::Layer;

/// caffe.Blob: a blob that Python and the library share, or one that is lent to a Python layer
/// until its net is deleted (Forget).
class BlobHandle {
 public:
  explicit BlobHandle(Blob<float>* lent) : blob_(lent) {}
  ~BlobHandle();
  BlobHandle(const BlobHandle&) = delete;
  BlobHandle& operator=(const BlobHandle&) = delete;
  void Forget() { blob_ = nullptr; }
  /// Throws after Forget.
  Blob<float>& get() const;
  /// Throws if the blob is lent.
  const boost::shared_ptr<Blob<float>>& owned() const;

 private:
  friend boost::shared_ptr<BlobHandle> HandleOf(const boost::shared_ptr<Blob<float>>& blob);
  explicit BlobHandle(const boost::shared_ptr<Blob<float>>& blob)
      : owned_(blob), blob_(blob.get()) {}

  const boost::shared_ptr<Blob<float>> owned_;
  Blob<float>* blob_;
};
using BlobPtr = boost::shared_ptr<BlobHandle>;
/// Returns the handle of a blob: the same one, and so the same Python object, as long as it is
/// alive.
BlobPtr HandleOf(const boost::shared_ptr<Blob<float>>& blob);

/// The shape given by arguments, one integer each. Throws TypeError if one is not an integer.
std::vector<int> ShapeOf(const py::args& dims);

/// caffe.Layer: a layer of a net, and the base of the classes that python_param names. An object of
/// such a class is tied to the library's layer from the layer's set-up to its deletion.
class LayerHandle {
 public:
  LayerHandle() = default;
  explicit LayerHandle(boost::shared_ptr<Layer<float>> layer)
      : owned_(std::move(layer)), layer_(owned_.get()) {}
  virtual ~LayerHandle() = default;
  void Tie(Layer<float>* layer) { layer_ = layer; }
  /// Throws if there is no layer.
  Layer<float>& get() const;

 private:
  boost::shared_ptr<Layer<float>> owned_;
  Layer<float>* layer_ = nullptr;
};
using LayerPtr = boost::shared_ptr<LayerHandle>;

/// caffe._caffe.BlobVec: the list of a layer's parameters, to which blobs can be appended.
class BlobVec {
 public:
  /// Throws if the layer belongs to no net.
  explicit BlobVec(LayerPtr layer);
  size_t size() const { return blobs().size(); }
  /// Throws IndexError if there is no such blob.
  BlobPtr At(int index) const;
  py::list Slice(const py::slice& slice) const;
  BlobPtr Append(const boost::shared_ptr<Blob<float>>& blob);

 private:
  std::vector<boost::shared_ptr<Blob<float>>>& blobs() const { return layer_->get().blobs(); }

  LayerPtr layer_;
};

void DefineBlobs(py::module_* module);
void DefineLayers(py::module_* module);
/// The Python object of a layer; for a layer of type Python, the user's object.
py::object LayerObject(const boost::shared_ptr<Layer<float>>& layer);

}  // namespace pycaffe

#endif  // PYTHON_MODULE_BLOB_HPP_
