// The module _caffe: the library for Python, which caffe/__init__.py exports.
#include <gflags/gflags.h>
#include <glog/logging.h>
#include <pybind11/numpy.h>
#include <pybind11/stl.h>

#include <cstring>
#include <opencv2/core/core.hpp>
#include <string>

#include "array_view.hpp"
#include "blob.hpp"
#include "caffe/common.hpp"
#include "caffe/layer_factory.hpp"
#include "caffe/solver_plans.hpp"
#include "caffe/util/io.hpp"
#include "layrub/device/communicator.hpp"
#include "layrub/plan_report.hpp"
#include "module.hpp"

namespace pycaffe {

using caffe::Caffe;
using std::string;

bool Embedded() {
  static const bool embedded = py::hasattr(py::module_::import("sys"), "_caffe_embedded");
  return embedded;
}

caffe::PlacementParameter Placement(const py::object& strategy, const py::object& device_memory,
                                    const py::object& host_memory) {
  caffe::PlacementParameter param;
  const auto text = [](const py::object& value) { return py::str(value).cast<string>(); };
  if (!strategy.is_none()) param.set_strategy(text(strategy));
  if (!device_memory.is_none()) param.set_device_memory(text(device_memory));
  if (!host_memory.is_none()) param.set_host_memory(text(host_memory));
  return param;
}

py::tuple PlanOf(const caffe::SolverGraphs& graphs, const caffe::PlacementOptions& options) {
  const auto made = layrub_tool::MakeReport(graphs, options, false);
  if (!made.ok()) throw py::value_error(made.status().message);
  const layrub::Graph& graph = graphs.of(made.value().nets.train);
  return py::make_tuple(layrub_tool::ToJson(graph, made.value()), layrub::ToText(graph),
                        layrub::ToText(made.value().plan(), graph));
}

namespace {

void InitLog(int level, bool to_stderr) {
  FLAGS_minloglevel = level;
  FLAGS_logtostderr = to_stderr;
  // Programs that read logs expect no year in the prefix; glog before 0.6 has none.
  gflags::SetCommandLineOption("log_year_in_prefix", "false");
  if (!google::IsGoogleLoggingInitialized()) google::InitGoogleLogging("caffe");
}

/// An image file as height x width x 3 (blue, green, red), or x 1.
py::array_t<uint8_t> ReadImage(const string& file, bool color) {
#ifdef USE_OPENCV
  const cv::Mat image = caffe::ReadImageToCVMat(file, color);
  if (!image.data) throw py::value_error(file + " cannot be read as an image.");
  py::array_t<uint8_t> pixels({image.rows, image.cols, image.channels()});
  const size_t row = size_t(image.cols) * image.channels();
  for (int y = 0; y < image.rows; ++y) std::memcpy(pixels.mutable_data(y, 0, 0), image.ptr(y), row);
  return pixels;
#else
  throw std::runtime_error(file + ": this build of caffe has no OpenCV, which reads images.");
#endif
}

}  // namespace

void DefineSettings(py::module_* module) {
  module->def("init_log", &InitLog, py::arg("level") = 0, py::arg("stderr") = true,
              "What is less severe than `level` (0: all, 1: warnings, 2: errors) is not logged.");
  module->def("log", [](const string& text) { LOG(INFO) << text; });
  module->def("set_mode_cpu", [] { Caffe::set_mode(Caffe::CPU); });
  module->def("set_mode_gpu", [] { Caffe::set_mode(Caffe::GPU); });
  module->def("set_device", &Caffe::SetDevice, py::arg("device_id"));
  module->def("set_random_seed", &Caffe::set_random_seed, py::arg("seed"));
  module->def("solver_count", &Caffe::solver_count);
  module->def("set_solver_count", &Caffe::set_solver_count);
  module->def("solver_rank", &Caffe::solver_rank);
  module->def("set_solver_rank", &Caffe::set_solver_rank);
  module->def("set_multiprocess", &Caffe::set_multiprocess);
  module->def("layer_type_list", &caffe::LayerRegistry<float>::LayerTypeList,
              "The types that a net may name.");
  module->def(
      "has_nccl", &layrub::HasNccl,
      "Whether solvers on several GPUs exchange their gradients by the library NCCL; without "
      "it, and on CPUs, caffe.NCCL works through the host's memory.");
  module->def("_read_image", &ReadImage);
}

}  // namespace pycaffe

PYBIND11_MODULE(_caffe, module) {
  module.attr("__version__") = "1.0.0";
  module.attr("layrub_version") = LAYRUB_VERSION;
  if (!pycaffe::Embedded()) {
    // Errors of the library are exceptions and do not end the interpreter.
    caffe::Caffe::set_throw_on_error(true);
    if (!google::IsGoogleLoggingInitialized()) pycaffe::InitLog(FLAGS_minloglevel, true);
  }
  pybind11::register_exception<caffe::Error>(module, "Error", PyExc_RuntimeError);
  pycaffe::DefineSettings(&module);
  pycaffe::DefineBlobs(&module);
  pycaffe::DefineLayers(&module);
  pycaffe::DefineNet(&module);
  pycaffe::DefineSolvers(&module);
}
