// The Python class of layers, and layers written in Python.
#include <pybind11/stl.h>

#include <algorithm>
#include <boost/make_shared.hpp>
#include <map>
#include <string>
#include <utility>

#include "array_view.hpp"
#include "blob.hpp"
#include "caffe/layers/python_layer.hpp"
#include "module.hpp"

namespace pycaffe {

using caffe::LayerParameter;
using caffe::PythonBody;
using std::vector;

namespace {

/// The objects of all live Python layers.
std::map<const Layer<float>*, py::handle>& PythonLayers() {
  static auto* const layers = new std::map<const Layer<float>*, py::handle>;
  return *layers;
}

/// For messages.
std::string WhereItIs(const LayerParameter& param) {
  const caffe::PythonParameter& python = param.python_param();
  return "python_param { module: \"" + python.module() + "\" layer: \"" + python.layer() +
         "\" } names it, and Python looks for modules in PYTHONPATH and in the folder one is in";
}

/// For messages.
std::string Unusable(const LayerParameter& param, const py::error_already_set& error) {
  return "Layer " + param.name() + ": its class cannot be used; " + WhereItIs(param) +
         ". Python says: " + error.what();
}

/// The class that python_param names. Throws what importing it throws.
py::object ClassOf(const LayerParameter& param) {
  const caffe::PythonParameter& python = param.python_param();
  const py::module_ module = py::module_::import(python.module().c_str());
  const std::string name = python.module() + "." + python.layer();
  if (!py::hasattr(module, python.layer().c_str())) {
    throw py::attribute_error("Layer " + param.name() + ": there is no class " + name + "; " +
                              WhereItIs(param) + ".");
  }
  const py::object found = module.attr(python.layer().c_str());
  if (!PyType_Check(found.ptr()) ||
      !PyObject_IsSubclass(found.ptr(), py::type::of<LayerHandle>().ptr())) {
    throw py::type_error("Layer " + param.name() + ": " + name +
                         " must be a class derived from caffe.Layer; " + WhereItIs(param) + ".");
  }
  return found;
}

/// Called before a layer writes the value. If a plan has dropped it, it becomes 0, because writing
/// into an array first reads the current value.
void Renew(const boost::shared_ptr<caffe::SyncedMemory>& memory) {
  if (!Readable(*memory)) memory->mutable_cpu_data();
}

/// The class of the lists of bottoms and tops.
const py::object& RawBlobVec() {
  static const auto* const type = new py::object(py::handle((PyObject*)&PyType_Type)(
      "RawBlobVec", py::make_tuple(py::handle((PyObject*)&PyList_Type)),
      py::dict(py::arg("__module__") = "caffe._caffe",
               py::arg("__doc__") = "The bottoms or tops of a layer: a list of blobs.")));
  return *type;
}

/// Runs the methods of an object of the user's class.
class Body : public PythonBody<float> {
 public:
  explicit Body(Layer<float>* layer) : layer_(layer) {
    const LayerParameter& param = layer->layer_param();
    const py::object found = ClassOf(param);
    object_ = found(py::none());
    object_.cast<LayerHandle*>()->Tie(layer);
    object_.attr("param_str") = param.python_param().param_str();
    object_.attr("param_str_") = object_.attr("param_str");  // as in the Caffe of py-faster-rcnn
    object_.attr("phase") = static_cast<int>(param.phase());
    if (!py::hasattr(found, "name")) object_.attr("name") = param.name();
    PythonLayers()[layer] = object_;
  }

  ~Body() override {
    const py::gil_scoped_acquire lock;
    PythonLayers().erase(layer_);
    object_.cast<LayerHandle*>()->Tie(nullptr);
    for (const auto& entry : blobs_) entry.second->Forget();
    object_ = py::object();
  }

  void SetUp(const vector<Blob<float>*>& bottom, const vector<Blob<float>*>& top) override {
    Call("setup", InPython::kShapes, Operands(bottom, top),
         [&] { return py::make_tuple(List(bottom), List(top)); });
  }
  void Reshape(const vector<Blob<float>*>& bottom, const vector<Blob<float>*>& top) override {
    Call("reshape", InPython::kShapes, Operands(bottom, top),
         [&] { return py::make_tuple(List(bottom), List(top)); });
  }
  void Forward(const vector<Blob<float>*>& bottom, const vector<Blob<float>*>& top) override {
    for (const Blob<float>* blob : top) {
      if (blob->count() > 0 && !std::count(bottom.begin(), bottom.end(), blob)) Renew(blob->data());
    }
    Call("forward", InPython::kLayer, Operands(bottom, top),
         [&] { return py::make_tuple(List(bottom), List(top)); });
  }
  void Backward(const vector<Blob<float>*>& top, const vector<bool>& propagate_down,
                const vector<Blob<float>*>& bottom) override {
    for (size_t i = 0; i < bottom.size(); ++i) {
      if (propagate_down[i] && !std::count(top.begin(), top.end(), bottom[i]))
        Renew(bottom[i]->diff());
    }
    Call("backward", InPython::kLayer, Operands(bottom, top),
         [&] { return py::make_tuple(List(top), py::cast(propagate_down), List(bottom)); });
  }

 private:
  /// The blobs that a method may use.
  Owners Operands(const vector<Blob<float>*>& bottom, const vector<Blob<float>*>& top) const {
    Owners owners;
    owners.blobs.assign(bottom.begin(), bottom.end());
    owners.blobs.insert(owners.blobs.end(), top.begin(), top.end());
    for (const auto& blob : layer_->blobs()) owners.blobs.push_back(blob.get());
    return owners;
  }

  template <typename Arguments>
  void Call(const char* method, InPython::Caller as, Owners operands, Arguments arguments) {
    InPython python(as, std::move(operands));
    try {
      object_.attr(method)(*arguments());
    } catch (const py::error_already_set& error) {
      if (!Embedded()) throw;
      LOG(FATAL) << layer_->layer_param().name() << "." << method << ": " << error.what();
    }
    python.Return();
  }

  py::object List(const vector<Blob<float>*>& blobs) {
    py::list list;
    for (Blob<float>* const blob : blobs) {
      BlobPtr& known = blobs_[blob];
      if (!known) known = boost::make_shared<BlobHandle>(blob);
      list.append(known);
    }
    return RawBlobVec()(list);
  }

  Layer<float>* const layer_;
  py::object object_;
  std::map<Blob<float>*, BlobPtr> blobs_;  ///< so that a blob is always the same object
};

std::unique_ptr<PythonBody<float>> MakeBody(Layer<float>* layer) {
  const py::gil_scoped_acquire lock;
  try {
    return std::make_unique<Body>(layer);
  } catch (const py::builtin_exception& error) {  // thrown by this module
    if (!Embedded()) throw;
    LOG(FATAL) << error.what();
  } catch (py::error_already_set& error) {
    const std::string text = Unusable(layer->layer_param(), error);
    if (Embedded()) LOG(FATAL) << text;
    if (!error.matches(PyExc_ImportError)) throw;
    const py::object type = error.type();
    py::raise_from(error, type.ptr(), text.c_str());
    throw py::error_already_set();
  }
  return nullptr;
}

/// Why the class cannot be used; "" if it can. Always "" in a program that has imported this
/// package, because it gets the exceptions themselves.
std::string ClassProblem(const LayerParameter& param) {
  if (!Embedded()) return "";
  const py::gil_scoped_acquire lock;
  try {
    ClassOf(param);
  } catch (const py::builtin_exception& error) {
    return error.what();
  } catch (const py::error_already_set& error) {
    return Unusable(param, error);
  }
  return "";
}

using Blobs = vector<BlobPtr>;
using Method = void (Layer<float>::*)(const vector<Blob<float>*>&, const vector<Blob<float>*>&);

/// Gives access to CheckBlobCounts, which is protected.
struct CountsOf : Layer<float> {
  using Layer<float>::CheckBlobCounts;
};

/// A method of a layer of the library, called from Python with lists of blobs.
template <Method method>
void CallLayer(const LayerHandle& handle, const Blobs& bottom, const Blobs& top) {
  Layer<float>& layer = handle.get();
  if (dynamic_cast<caffe::PythonLayer<float>*>(&layer)) {
    throw py::attribute_error("Layer " + layer.layer_param().name() +
                              ": its class must define setup(bottom, top) and "
                              "reshape(bottom, top).");
  }
  const auto all = [](const Blobs& handles) {
    vector<Blob<float>*> blobs;
    for (const BlobPtr& each : handles) blobs.push_back(&each->get());
    return blobs;
  };
  const vector<Blob<float>*> bottoms = all(bottom), tops = all(top);
  Owners owners;
  for (const auto* const blobs : {&bottoms, &tops})
    owners.blobs.insert(owners.blobs.end(), blobs->begin(), blobs->end());
  const InLibrary scope(std::move(owners));
  (layer.*&CountsOf::CheckBlobCounts)(bottoms, tops);
  (layer.*method)(bottoms, tops);
}

}  // namespace

BlobVec::BlobVec(LayerPtr layer) : layer_(std::move(layer)) { blobs(); }

BlobPtr BlobVec::At(int index) const {
  const int length = static_cast<int>(size());
  if (index < 0) index += length;
  if (index < 0 || index >= length) throw py::index_error();
  return HandleOf(blobs()[static_cast<size_t>(index)]);
}

py::list BlobVec::Slice(const py::slice& slice) const {
  py::list all;
  for (const auto& blob : blobs()) all.append(HandleOf(blob));
  return all[slice];
}

BlobPtr BlobVec::Append(const boost::shared_ptr<Blob<float>>& blob) {
  blobs().push_back(blob);
  return HandleOf(blob);
}

Layer<float>& LayerHandle::get() const {
  if (!layer_)
    throw std::runtime_error("This layer is of no net: one that is not set up yet, or is gone.");
  return *layer_;
}

py::object LayerObject(const boost::shared_ptr<Layer<float>>& layer) {
  const auto found = PythonLayers().find(layer.get());
  if (found != PythonLayers().end()) return py::reinterpret_borrow<py::object>(found->second);
  return py::cast(boost::make_shared<LayerHandle>(layer));
}

void DefineLayers(py::module_* module) {
  const auto add_blob = [](BlobVec* blobs, const py::args& dims) {
    return blobs->Append(boost::shared_ptr<Blob<float>>(new Blob<float>(ShapeOf(dims))));
  };
  const auto extend = [](BlobVec* blobs, const Blobs& others) {
    for (const BlobPtr& each : others) blobs->Append(each->owned());
  };
  module->attr("RawBlobVec") = RawBlobVec();
  Class<BlobVec>(*module, "BlobVec", "The parameters of a layer, as blobs.")
      .def("__len__", &BlobVec::size)
      .def("__getitem__", &BlobVec::At)
      .def("__getitem__", &BlobVec::Slice)
      .def("append", [](BlobVec* blobs, const BlobHandle& blob) { blobs->Append(blob.owned()); })
      .def("extend", extend)
      .def("add_blob", add_blob, "add_blob(*dims): one more, in setup().");
  Class<LayerHandle, LayerPtr>(
      *module, "Layer", py::dynamic_attr(),
      "A layer of a net. A class derived from it, with the methods setup(bottom, top), "
      "reshape(bottom, top), forward(bottom, top) and backward(top, propagate_down, bottom), is a "
      "layer of type Python, which python_param names; param_str is its parameter.")
      .def(py::init<>())
      .def(py::init([](const py::object&) { return boost::make_shared<LayerHandle>(); }))
      .def("setup", &CallLayer<&Layer<float>::LayerSetUp>, py::arg("bottom"), py::arg("top"))
      .def("reshape", &CallLayer<&Layer<float>::Reshape>, py::arg("bottom"), py::arg("top"))
      .def_property_readonly("blobs", [](const LayerPtr& layer) { return BlobVec(layer); })
      .def_property_readonly("type", [](const LayerHandle& layer) { return layer.get().type(); })
      .def_property_readonly("_param", [](const LayerHandle& layer) {
        caffe::LayerParameter param = layer.get().layer_param();
        param.clear_blobs();
        return py::bytes(param.SerializeAsString());
      });
  caffe::PythonLayer<float>::SetBodyMaker(MakeBody, ClassProblem);
}

}  // namespace pycaffe
