#ifndef PYTHON_MODULE_MODULE_HPP_
#define PYTHON_MODULE_MODULE_HPP_

#include <pybind11/pybind11.h>
#include <pybind11/stl/filesystem.h>

#include <filesystem>
#include <string>

#include "caffe/solver_plans.hpp"

namespace pycaffe {

namespace py = pybind11;
/// The name of a file, as Python's open takes it: a string or an os.PathLike.
using Path = std::filesystem::path;

void DefineSettings(py::module_* module);
void DefineNet(py::module_* module);
void DefineSolvers(py::module_* module);

/// Python runs in a program of somebody else, whose layers need it: that is where errors go.
bool Embedded();

/// The fields that are not None. Throws where strategy or size is not known.
caffe::PlacementParameter Placement(const py::object& strategy, const py::object& device_memory,
                                    const py::object& host_memory);
/// (JSON of the report, graph.txt, plan.txt) of a plan for `graphs`.
py::tuple PlanOf(const caffe::SolverGraphs& graphs, const caffe::PlacementOptions& options);

}  // namespace pycaffe

#endif  // PYTHON_MODULE_MODULE_HPP_
