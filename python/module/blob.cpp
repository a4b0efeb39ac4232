#include "blob.hpp"

#include <pybind11/stl.h>

#include <boost/weak_ptr.hpp>
#include <map>
#include <string>

#include "array_view.hpp"

namespace pycaffe {

namespace {

/// The live handles of owned blobs.
std::map<const Blob<float>*, boost::weak_ptr<BlobHandle>>& Handles() {
  static auto* const handles = new std::map<const Blob<float>*, boost::weak_ptr<BlobHandle>>;
  return *handles;  // blobs may live until the program ends
}

}  // namespace

BlobPtr HandleOf(const boost::shared_ptr<Blob<float>>& blob) {
  boost::weak_ptr<BlobHandle>& known = Handles()[blob.get()];
  BlobPtr handle = known.lock();
  if (!handle) known = handle = BlobPtr(new BlobHandle(blob));
  return handle;
}

BlobHandle::~BlobHandle() {
  if (owned_) Handles().erase(owned_.get());
}

const boost::shared_ptr<Blob<float>>& BlobHandle::owned() const {
  if (!owned_)
    throw py::type_error("This blob is the net's, and cannot be a parameter of a layer as well.");
  return owned_;
}

Blob<float>& BlobHandle::get() const {
  if (!blob_) throw std::runtime_error("This blob was lent to a layer whose net is gone.");
  return *blob_;
}

std::vector<int> ShapeOf(const py::args& dims) {
  try {
    return dims.cast<std::vector<int>>();
  } catch (const py::cast_error&) {
    throw py::type_error("A shape is given by integers, as in reshape(4, 3), and these are " +
                         py::repr(dims).cast<std::string>() + ".");
  }
}

void DefineBlobs(py::module_* module) {
  const auto shape = [](const BlobHandle& blob) { return py::tuple(py::cast(blob.get().shape())); };
  const auto reshape = [](const BlobHandle& blob, const py::args& dims) {
    const std::vector<int> shape = ShapeOf(dims);
    const InLibrary scope({{}, {&blob.get()}});
    blob.get().Reshape(shape);
  };
  const auto legacy = [](int axis) {
    return [axis](const BlobHandle& blob) { return blob.get().LegacyShape(axis); };
  };
  Class<BlobHandle, BlobPtr>(*module, "Blob",
                             "An array of float32 values (data) and their derivatives (diff).")
      .def(py::init([](const std::vector<int>& dims) {
             return HandleOf(boost::shared_ptr<Blob<float>>(new Blob<float>(dims)));
           }),
           py::arg("shape"))
      .def_property_readonly("shape", shape)
      .def_property_readonly("num", legacy(0))
      .def_property_readonly("channels", legacy(1))
      .def_property_readonly("height", legacy(2))
      .def_property_readonly("width", legacy(3))
      .def_property_readonly("count", [](const BlobHandle& blob) { return blob.get().count(); })
      .def("reshape", reshape,
           "reshape(*dims): another shape; the layers above follow with "
           "Net.reshape() or the next forward.")
      .def_property_readonly(
          "data",
          [](const BlobHandle& blob) { return ViewOf(blob.get().data(), blob.get().shape()); },
          "The values, as an array that shows the blob: write into it with data[...] = values.")
      .def_property_readonly(
          "diff",
          [](const BlobHandle& blob) { return ViewOf(blob.get().diff(), blob.get().shape()); },
          "The derivatives, likewise.")
      .def_property_readonly(
          "readable", [](const BlobHandle& blob) { return Readable(*blob.get().data()); },
          "Whether data is there; a memory plan may have given it up.")
      .def_property_readonly("diff_readable",
                             [](const BlobHandle& blob) { return Readable(*blob.get().diff()); })
      .def_property_readonly(
          "_gpu_data_ptr",
          [](const BlobHandle& blob) {
            return reinterpret_cast<std::uintptr_t>(blob.get().mutable_gpu_data());
          })
      .def_property_readonly(
          "_gpu_diff_ptr",
          [](const BlobHandle& blob) {
            return reinterpret_cast<std::uintptr_t>(blob.get().mutable_gpu_diff());
          })
      .def("__repr__",
           [](const BlobHandle& blob) { return "<caffe.Blob " + blob.get().shape_string() + ">"; });
}

}  // namespace pycaffe
