#ifndef PYTHON_MODULE_MODULE_HPP_
#define PYTHON_MODULE_MODULE_HPP_

#include <pybind11/pybind11.h>
#include <pybind11/stl/filesystem.h>

#include <filesystem>
#include <string>

#include "caffe/solver_plans.hpp"

namespace pycaffe {

namespace py = pybind11;
/// A file name as Python's open takes it: a string or an os.PathLike.
using Path = std::filesystem::path;

void DefineSettings(py::module_* module);
void DefineNet(py::module_* module);
void DefineSolvers(py::module_* module);

/// Whether Python was started by another program for its Python layers. That program reports the
/// errors then.
bool Embedded();

/// Makes a placement of the arguments that are not None. Throws if a strategy is unknown or a size
/// is malformed.
caffe::PlacementParameter Placement(const py::object& strategy, const py::object& device_memory,
                                    const py::object& host_memory);
/// Plans `graphs` and returns (JSON of the report, graph.txt, plan.txt).
py::tuple PlanOf(const caffe::SolverGraphs& graphs, const caffe::PlacementOptions& options);

}  // namespace pycaffe

#endif  // PYTHON_MODULE_MODULE_HPP_
