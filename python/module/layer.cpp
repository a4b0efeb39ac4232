// Layers as Python sees them, and layers that are written in Python.
#include <pybind11/stl.h>

#include <algorithm>
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

/// The parameters of a layer, to be made longer in setup().
struct LayerBlobs {
  std::shared_ptr<LayerHandle> layer;
};

/// The objects of Python layers that live.
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

/// A layer is about to write the value: one that a plan has given up is zero from now on. To write
/// into an array, Python asks for what is there.
void Renew(const boost::shared_ptr<caffe::SyncedMemory>& memory) {
  if (!Readable(*memory)) memory->mutable_cpu_data();
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
  /// Of the blobs that a method is about.
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

  py::list List(const vector<Blob<float>*>& blobs) {
    py::list list;
    for (Blob<float>* const blob : blobs) {
      BlobPtr& known = blobs_[blob];
      if (!known) known = std::make_shared<BlobHandle>(blob);
      list.append(known);
    }
    return list;
  }

  Layer<float>* const layer_;
  py::object object_;
  std::map<Blob<float>*, BlobPtr> blobs_;  ///< so that a blob is the same object each time
};

std::unique_ptr<PythonBody<float>> MakeBody(Layer<float>* layer) {
  const py::gil_scoped_acquire lock;
  try {
    return std::make_unique<Body>(layer);
  } catch (const py::builtin_exception& error) {  // ours
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

/// Of a program's own interpreter. Who has imported this package gets the exceptions themselves.
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

BlobPtr BlobAt(const LayerBlobs& blobs, int index) {
  const auto& all = blobs.layer->get().blobs();
  const int size = static_cast<int>(all.size());
  if (index < 0) index += size;
  if (index < 0 || index >= size) throw py::index_error();
  return std::make_shared<BlobHandle>(all[index]);
}

py::list BlobsAt(const LayerBlobs& blobs, const py::slice& slice) {
  const auto& all = blobs.layer->get().blobs();
  py::list found;
  for (const auto& blob : all) found.append(std::make_shared<BlobHandle>(blob));
  return found[slice];
}

}  // namespace

Layer<float>& LayerHandle::get() const {
  if (!layer_)
    throw std::runtime_error("This layer is of no net: one that is not set up yet, or is gone.");
  return *layer_;
}

py::object LayerObject(const boost::shared_ptr<Layer<float>>& layer) {
  const auto found = PythonLayers().find(layer.get());
  if (found != PythonLayers().end()) return py::reinterpret_borrow<py::object>(found->second);
  return py::cast(std::make_shared<LayerHandle>(layer));
}

void DefineLayers(py::module_* module) {
  const auto add_blob = [](const LayerBlobs& blobs, const py::args& dims) {
    auto& all = blobs.layer->get().blobs();
    all.emplace_back(new Blob<float>(ShapeOf(dims)));
    return BlobAt(blobs, -1);
  };
  py::class_<LayerBlobs>(*module, "LayerBlobs", "The parameters of a layer, as blobs.")
      .def("__len__", [](const LayerBlobs& blobs) { return blobs.layer->get().blobs().size(); })
      .def("__getitem__", &BlobAt)
      .def("__getitem__", &BlobsAt)
      .def("add_blob", add_blob, "add_blob(*dims): one more, in setup().");
  py::class_<LayerHandle, std::shared_ptr<LayerHandle>>(
      *module, "Layer", py::dynamic_attr(),
      "A layer of a net. A class derived from it, with the methods setup(bottom, top), "
      "reshape(bottom, top), forward(bottom, top) and backward(top, propagate_down, bottom), is a "
      "layer of type Python, which python_param names; param_str is its parameter.")
      .def(py::init<>())
      .def(py::init([](const py::object&) { return std::make_shared<LayerHandle>(); }))
      .def_property_readonly("blobs",
                             [](const std::shared_ptr<LayerHandle>& layer) {
                               layer->get();
                               return LayerBlobs{layer};
                             })
      .def_property_readonly("type", [](const LayerHandle& layer) { return layer.get().type(); });
  caffe::PythonLayer<float>::SetBodyMaker(MakeBody, ClassProblem);
}

}  // namespace pycaffe
