#include <glog/logging.h>

#include <filesystem>
#include <fstream>
#include <iostream>
#include <memory>

#include "caffe/caffe.hpp"
#include "caffe/solver_nets.hpp"
#include "caffe/util/shape_only.hpp"
#include "layrub/commands.hpp"
#include "layrub/flags.hpp"
#include "layrub/machine_file.hpp"
#include "layrub/plan_report.hpp"

namespace layrub_tool {

namespace {

using caffe::NetParameter;
using caffe::SolverParameter;
using layrub::Result;
using layrub::Status;

/// The solver that the flags name; with --model, SGD on that model.
SolverParameter WantedSolver() {
  SolverParameter solver;
  if (FLAGS_solver.empty() == FLAGS_model.empty()) {
    Fail(
        "'plan' needs either --model=FILE or --solver=FILE; 'layrub plan --help' shows an "
        "example.");
  }
  if (FLAGS_solver.empty()) {
    solver.set_net(FLAGS_model);
  } else {
    caffe::ReadSolverParamsFromTextFileOrDie(FLAGS_solver, &solver);
  }
  ApplyDataFlags(&solver);
  return solver;
}

/// The net in `phase`, and what its prototxt, the solver's and the flags say of placement.
NetParameter WantedNet(SolverParameter solver, caffe::Phase phase,
                       caffe::PlacementParameter* placement) {
  NetParameter net;
  if (phase == caffe::TRAIN) {
    ApplyStateFlags(solver.mutable_train_state());
    net = caffe::TrainNetOf(solver).param;
  } else if (FLAGS_solver.empty()) {
    net = caffe::TrainNetOf(solver).param;
    net.mutable_state()->set_phase(phase);
    ApplyStateFlags(net.mutable_state());
  } else {
    const auto nets = caffe::TestNetsOf(solver);
    if (nets.empty()) Fail(FLAGS_solver + " has no test net.");
    net = nets.front().param;
  }
  *placement = net.placement();
  placement->MergeFrom(solver.placement());
  ApplyPlacementFlags(placement);
  return net;
}

/// The graph of one iteration, from a net of shapes. A TRAIN net is given to a solver of the wanted
/// type, which knows how many history tensors a parameter has.
layrub::Graph BuildGraph(const NetParameter& net, caffe::Phase phase,
                         const std::string& solver_type, const std::vector<std::string>& keep) {
  const caffe::ShapeOnlyScope shapes_only;
  NetParameter filtered;
  caffe::Net<float>::FilterNet(net, &filtered);
  const NetParameter shapes = caffe::WithoutSources(filtered, DataShapeFlag());
  if (phase == caffe::TEST) return caffe::Net<float>(shapes).MemoryGraph(-1, keep);
  SolverParameter param;
  param.set_type(solver_type);
  *param.mutable_train_net_param() = shapes;
  *param.mutable_train_state() = shapes.state();
  const std::unique_ptr<caffe::Solver<float>> solver(
      caffe::SolverRegistry<float>::CreateSolver(param));
  return solver->net()->MemoryGraph(solver->histories(), keep);
}

void WriteFile(const std::string& path, const std::string& text) {
  std::ofstream file(path);
  file << text;
  file.close();
  if (!file) Fail("--dump: cannot write " + path);
}

void Dump(const layrub::Graph& graph, const layrub::Plan& plan) {
  std::error_code error;
  std::filesystem::create_directories(FLAGS_dump, error);
  if (error) Fail("--dump: cannot make the folder " + FLAGS_dump + ": " + error.message());
  WriteFile(FLAGS_dump + "/graph.txt", layrub::ToText(graph));
  WriteFile(FLAGS_dump + "/plan.txt", layrub::ToText(plan, graph));
}

}  // namespace

int Plan(const std::vector<std::string>&) {
  FLAGS_minloglevel = std::max(FLAGS_minloglevel, int{google::GLOG_WARNING});
  if (FLAGS_format != "text" && FLAGS_format != "json")
    Fail("--format=" + FLAGS_format + ": text or json.");
  const caffe::Phase phase = PhaseFlag(caffe::TRAIN);
  const SolverParameter solver = WantedSolver();
  caffe::PlacementParameter placement;
  const NetParameter net = WantedNet(solver, phase, &placement);
  Result<caffe::PlacementOptions> options = caffe::ToOptions(placement);
  if (!options.ok()) return ExitCode(options.status());
  options.value().machine = MachineFlag();
  const layrub::Graph graph = BuildGraph(net, phase, solver.type(), options.value().keep);
  WarnOfForeignProfile(graph, options.value().machine);
  const Result<PlanReport> report = MakeReport(graph, options.value());
  if (!report.ok()) return ExitCode(report.status());
  if (!FLAGS_dump.empty()) Dump(graph, report.value().plan);
  std::cout << (FLAGS_format == "json" ? ToJson(graph, report.value())
                                       : ToText(graph, report.value()))
            << std::flush;
  return report.value().fits.ok() ? kSuccess : kDoesNotFit;
}

}  // namespace layrub_tool
