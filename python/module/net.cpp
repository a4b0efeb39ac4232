#include <pybind11/numpy.h>
#include <pybind11/stl.h>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "array_view.hpp"
#include "blob.hpp"
#include "caffe/layers/memory_data_layer.hpp"
#include "caffe/net.hpp"
#include "caffe/parallel.hpp"
#include "caffe/planned_net.hpp"
#include "caffe/util/io.hpp"
#include "caffe/util/upgrade_proto.hpp"
#include "module.hpp"

namespace pycaffe {

using caffe::Net;
using std::string;
using std::vector;
using NetPtr = boost::shared_ptr<Net<float>>;
using Array = py::array_t<float, py::array::c_style>;

namespace {

NetPtr MakeNet(const Path& file, int phase, int level, const py::object& stages,
               const std::optional<Path>& weights) {
  if (phase != caffe::TRAIN && phase != caffe::TEST)
    throw py::value_error("phase: caffe.TRAIN or caffe.TEST is needed.");
  vector<string> names;
  try {
    if (py::isinstance<py::str>(stages)) {
      names.push_back(stages.cast<string>());
    } else if (!stages.is_none()) {
      names = stages.cast<vector<string>>();
    }
  } catch (const py::cast_error&) {
    throw py::type_error("stages: a name, or a list of names, is needed.");
  }
  const InLibrary scope;
  const NetPtr net(new Net<float>(file.string(), static_cast<caffe::Phase>(phase), level, &names));
  if (weights) net->CopyTrainedLayersFrom(weights->string());
  return net;
}

/// Net(file, weights, phase), Caffe's old order of arguments.
NetPtr MakeNetWithWeights(const Path& file, const Path& weights, int phase) {
  LOG(WARNING) << "Net(file, weights, phase) is Caffe's old way: Net(file, phase, weights=...)";
  return MakeNet(file, phase, 0, py::none(), weights);
}

/// Calls a user's function with the index of a layer.
class LayerCallback : public Net<float>::Callback {
 public:
  LayerCallback(const Net<float>* net, py::handle function) : net_(net), function_(function) {}

 protected:
  void run(int layer) override {
    InPython python(InPython::kCallback, Of(*net_));
    function_(layer);
    python.Return();
  }

 private:
  const Net<float>* const net_;
  const py::handle function_;
};

using Adder = void (Net<float>::*)(Net<float>::Callback*);

/// Adds a callback. The net's Python object, which lives as long as the net, owns callback and
/// function.
template <Adder add>
void AddCallback(Net<float>* net, const py::function& function) {
  auto* const callback = new LayerCallback(net, function);
  const py::capsule owner(callback, [](void* held) { delete static_cast<LayerCallback*>(held); });
  const py::object object = ObjectOf(net);
  if (!py::hasattr(object, "_callbacks")) object.attr("_callbacks") = py::list();
  object.attr("_callbacks").cast<py::list>().append(py::make_tuple(owner, function));
  (net->*add)(callback);
}

/// `in_part`: the user has named start or end, even if they are the first and the last layer.
float Forward(Net<float>* net, int start, int end, bool in_part) {
  const InLibrary scope(Of(*net));
  if (in_part) return net->ForwardFromTo(start, end);
  float loss = 0;
  net->Forward(&loss);  // a whole pass runs under the net's plan, if it has one
  return loss;
}

void Backward(Net<float>* net, int start, int end) {
  const InLibrary scope(Of(*net));
  if (start + 1 == static_cast<int>(net->layers().size()) && end == 0) return net->Backward();
  net->BackwardFromTo(start, end);
}

void CheckInput(const Array& array, const char* name, const vector<int>& item) {
  bool fits = array.ndim() == 4;
  for (int i = 0; fits && i < 3; ++i) fits = array.shape(i + 1) == item[i];
  if (fits) return;
  throw py::value_error(string(name) + ": an array of N x " + std::to_string(item[0]) + " x " +
                        std::to_string(item[1]) + " x " + std::to_string(item[2]) +
                        " is needed, as the MemoryData layer is set up.");
}

/// The arrays are not copied; the net's Python object keeps them alive.
void SetInputArrays(Net<float>* net, const Array& data, const Array& labels) {
  const auto& layers = net->layers();
  auto* const layer =
      layers.empty() ? nullptr : dynamic_cast<caffe::MemoryDataLayer<float>*>(layers[0].get());
  if (!layer) throw py::type_error("set_input_arrays: the first layer must be MemoryData.");
  CheckInput(data, "data", {layer->channels(), layer->height(), layer->width()});
  CheckInput(labels, "labels", {1, 1, 1});
  const auto count = data.shape(0);
  if (labels.shape(0) != count)
    throw py::value_error("set_input_arrays: " + std::to_string(count) + " images have " +
                          std::to_string(labels.shape(0)) + " labels.");
  if (count == 0 || count % layer->batch_size() != 0)
    throw py::value_error("set_input_arrays: " + std::to_string(count) +
                          " images are no multiple of the batch of " +
                          std::to_string(layer->batch_size()) + ".");
  {
    const InLibrary scope(Of(*net));
    layer->Reset(const_cast<float*>(data.data()), const_cast<float*>(labels.data()),
                 static_cast<int>(count));
  }
  ObjectOf(net).attr("_input_arrays") = py::make_tuple(data, labels);
}

void Save(const Net<float>& net, const Path& file) {
  const InLibrary scope(Of(net));
  caffe::NetParameter param;
  net.ToProto(&param, false);
  caffe::WriteProtoToBinaryFile(param, file.string());
}

/// Plans the net as it is now, for inference if it has no losses.
py::tuple Plan(Net<float>* net, const py::object& strategy, const py::object& device_memory,
               const py::object& host_memory) {
  const auto options = caffe::ToOptions(Placement(strategy, device_memory, host_memory));
  if (!options.ok()) throw py::value_error(options.status().message);
  net->Reshape();
  caffe::SolverGraphs graphs{net->MemoryGraph(-1), {}};
  const layrub::Status met = caffe::ApplyOptions(options.value(), &graphs);
  if (!met.ok()) throw std::runtime_error(met.message);
  return PlanOf(graphs, options.value());
}

void Place(Net<float>* net, const py::object& strategy, const py::object& device_memory,
           const py::object& host_memory, const vector<string>& keep) {
  auto options = caffe::ToOptions(Placement(strategy, device_memory, host_memory));
  if (!options.ok()) throw py::value_error(options.status().message);
  options.value().keep = keep;
  const InLibrary scope(Of(*net));
  const layrub::Status placed = net->Place(options.value());
  if (!placed.ok()) throw py::value_error(placed.message);
}

vector<BlobPtr> Blobs(const Net<float>& net) {
  vector<BlobPtr> blobs;
  for (const auto& blob : net.blobs()) blobs.push_back(HandleOf(blob));
  return blobs;
}

py::list Layers(const Net<float>& net) {
  py::list layers;
  for (const auto& layer : net.layers()) layers.append(LayerObject(layer));
  return layers;
}

}  // namespace

void DefineNet(py::module_* module) {
  using FileCall = void (Net<float>::*)(const string&);
  const auto guarded = [](auto method) {
    return [method](Net<float>* net, const Path& file) {
      const InLibrary scope(Of(*net));
      (net->*method)(file.string());
    };
  };
  const py::object none = py::none();
  Class<Net<float>, NetPtr>(*module, "Net", py::dynamic_attr(), "A net of layers, from a prototxt.")
      .def(py::init(&MakeNet), py::arg("network_file"), py::arg("phase"), py::arg("level") = 0,
           py::arg("stages") = none, py::arg("weights") = none)
      .def(py::init(&MakeNetWithWeights))
      .def("_forward", &Forward)
      .def("_backward", &Backward)
      .def(
          "reshape",
          [](Net<float>* net) {
            const InLibrary scope(Of(*net));
            net->Reshape();
          },
          "Carries new shapes of the inputs through all layers.")
      .def("clear_param_diffs",
           [](Net<float>* net) {
             const InLibrary scope(Of(*net));
             net->ClearParamDiffs();
           })
      .def("copy_from", guarded(static_cast<FileCall>(&Net<float>::CopyTrainedLayersFrom)),
           py::arg("file"), "Takes the parameters of the layers of the same names from a file.")
      .def("load_hdf5", guarded(&Net<float>::CopyTrainedLayersFromHDF5), py::arg("file"))
      .def("save", &Save, py::arg("file"), "Writes a .caffemodel.")
      .def(
          "save_hdf5",
          [](const Net<float>& net, const Path& file) {
            const InLibrary scope(Of(net));
            net.ToHDF5(file.string(), false);
          },
          py::arg("file"), "Writes a .caffemodel.h5.")
      .def(
          "share_with",
          [](Net<float>* net, const Net<float>* other) {
            const InLibrary scope({{net, other}, {}});
            net->ShareTrainedLayersWith(other);
          },
          py::arg("other"), py::keep_alive<1, 2>(),
          "Uses the parameters of the layers of the same names of another net.")
      .def("_set_input_arrays", &SetInputArrays)
      .def("_plan", &Plan)
      .def("place", &Place, py::arg("strategy") = none, py::arg("device_memory") = none,
           py::arg("host_memory") = none, py::arg("keep") = vector<string>(),
           "Runs whole passes under a memory plan from now on, as train does within a budget: "
           "net.place('hybrid', '2GiB', keep=['fc7']).")
      .def("_bottom_ids", [](const Net<float>& net, int i) { return net.bottom_ids(i); })
      .def("_top_ids", [](const Net<float>& net, int i) { return net.top_ids(i); })
      .def_property_readonly("name", [](const Net<float>& net) { return net.name(); })
      .def_property_readonly("_blobs", &Blobs)
      .def_property_readonly("layers", &Layers)
      .def_property_readonly("_blob_loss_weights",
                             [](const Net<float>& net) { return net.blob_loss_weights(); })
      .def_property_readonly("_blob_names", [](const Net<float>& net) { return net.blob_names(); })
      .def_property_readonly("_layer_names",
                             [](const Net<float>& net) { return net.layer_names(); })
      .def_property_readonly("_inputs",
                             [](const Net<float>& net) { return net.input_blob_indices(); })
      .def_property_readonly("_outputs",
                             [](const Net<float>& net) { return net.output_blob_indices(); })
      // An NCCL needs no callback to sum gradients, but Caffe's programs pass it.
      .def("after_backward", [](const Net<float>&, const caffe::NCCL<float>&) {})
      .def("before_forward", &AddCallback<&Net<float>::add_before_forward>)
      .def("after_forward", &AddCallback<&Net<float>::add_after_forward>)
      .def("before_backward", &AddCallback<&Net<float>::add_before_backward>)
      .def("after_backward", &AddCallback<&Net<float>::add_after_backward>);
}

}  // namespace pycaffe
