#include "layrub/planned_nets.hpp"

#include <filesystem>
#include <memory>
#include <set>

#include "caffe/caffe.hpp"
#include "caffe/solver_check.hpp"
#include "caffe/solver_nets.hpp"
#include "caffe/source_shapes.hpp"
#include "caffe/util/shape_only.hpp"
#include "layrub/commands.hpp"
#include "layrub/flags.hpp"

namespace layrub_tool {

using caffe::NetParameter;
using caffe::PlacementOptions;
using caffe::SolverGraphs;
using caffe::SolverParameter;

namespace {

/// The solver that the flags name; with --model, SGD on that model.
SolverParameter WantedSolver(const std::string& command) {
  SolverParameter solver;
  if (!FLAGS_solver.empty() && !FLAGS_model.empty())
    Fail("'" + command + "' takes one net: give --model or --solver, but not both.");
  if (FLAGS_solver.empty() && FLAGS_model.empty()) {
    Fail("'" + command + "' needs --model=FILE or --solver=FILE; 'layrub " + command +
         " --help' shows an example.");
  }
  if (FLAGS_solver.empty()) {
    solver.set_net(FLAGS_model);
  } else {
    solver = SolverFlag(false);
    caffe::CheckSolver(solver);
  }
  ApplyDataFlags(false, &solver);
  return solver;
}

}  // namespace

NetParameter ShapesOf(const NetParameter& net) {
  NetParameter filtered;
  caffe::Net<float>::FilterNet(net, &filtered);
  NetParameter shapes =
      caffe::WithoutSources(caffe::WithOpaqueLayers(filtered, TopShapeFlag()), DataShapeFlag());
  // Layers that other net states include stay, because messages may name them.
  NetParameter one = net;
  for (const caffe::LayerParameter& layer : net.layer()) {
    one.clear_layer();
    *one.add_layer() = layer;
    caffe::Net<float>::FilterNet(one, &filtered);
    if (filtered.layer_size() == 0) *shapes.add_layer() = layer;
  }
  return shapes;
}

namespace {

void WarnOfOpaqueLayers(const std::vector<NetParameter>& nets) {
  std::set<std::string> layers;
  for (const NetParameter& net : nets) {
    const NetParameter opaque = caffe::WithOpaqueLayers(net, TopShapeFlag());
    for (int i = 0; i < net.layer_size(); ++i) {
      const std::string &type = net.layer(i).type(), name = net.layer(i).name();
      if (opaque.layer(i).type() != type) layers.insert(name + " (" + type + ")");
    }
  }
  std::string names;
  for (const std::string& layer : layers) names += (names.empty() ? "" : ", ") + layer;
  LOG_IF(WARNING, !names.empty()) << "Planned by the shapes of their tops alone: " << names
                                  << "; parameters and workspace of these layers are not counted.";
}

/// Warns of layers because of which training may at times run without its plan.
void WarnOfVaryingShapes(const caffe::Net<float>& net) {
  std::string names;
  for (size_t i = 0; i < net.layers().size(); ++i) {
    const auto &bottom = net.bottom_vecs()[i], &top = net.top_vecs()[i];
    const caffe::Layer<float>& layer = *net.layers()[i];
    if (!layer.Traits(bottom, top, net.bottom_need_backward()[i]).varying) continue;
    names += (names.empty() ? "" : ", ") + net.layer_names()[i] + " (" + layer.type() + ")";
  }
  LOG_IF(WARNING, !names.empty())
      << "The shapes of the tops of these layers depend on values: " << names
      << ". A pass with other shapes continues without the plan, in separate memory, and "
         "recomputes the tensors that the plan has dropped by then.";
}

}  // namespace

WantedNets NetsOfFlags(const std::string& command) {
  const caffe::Phase phase = PhaseFlag(caffe::TRAIN);
  SolverParameter solver = WantedSolver(command);
  WantedNets wanted;
  wanted.solver.set_type(solver.type());
  wanted.solver.set_clip_gradients(solver.clip_gradients());
  wanted.solver.set_iter_size(solver.iter_size());
  wanted.solver.set_debug_info(solver.debug_info());
  ApplyStateFlags(solver.mutable_train_state());
  std::vector<caffe::SolverNet> tests;
  if (!FLAGS_solver.empty()) tests = caffe::TestNetsOf(solver);
  if (phase == caffe::TRAIN) {
    wanted.net = caffe::TrainNetOf(solver).param;
    for (const caffe::SolverNet& test : tests) wanted.tests.push_back(test.param);
  } else if (FLAGS_solver.empty()) {
    solver.clear_train_state();
    wanted.net = caffe::TrainNetOf(solver).param;
    wanted.net.mutable_state()->set_phase(phase);
    ApplyStateFlags(wanted.net.mutable_state());
  } else {
    if (tests.empty()) Fail(FLAGS_solver + " has no test net.");
    wanted.net = tests.front().param;
  }
  wanted.placement = wanted.net.placement();
  wanted.placement.MergeFrom(solver.placement());
  ApplyPlacementFlags(&wanted.placement);
  std::vector<NetParameter> nets = wanted.tests;
  nets.push_back(wanted.net);
  if (!FLAGS_synthetic) RefuseUnknownTops(nets);
  WarnOfOpaqueLayers(nets);
  return wanted;
}

WantedNets WithKnownLayers(WantedNets nets) {
  nets.net = caffe::WithOpaqueLayers(nets.net, TopShapeFlag());
  for (NetParameter& test : nets.tests) test = caffe::WithOpaqueLayers(test, TopShapeFlag());
  return nets;
}

std::string NetName(const NetParameter& net) {
  if (!net.name().empty()) return net.name();
  return std::filesystem::path(FLAGS_model.empty() ? FLAGS_solver : FLAGS_model).filename();
}

layrub::Result<SolverGraphs> BuildGraphs(const WantedNets& nets, const PlacementOptions& options) {
  const caffe::ShapeOnlyScope shapes_only;
  const NetParameter shapes = ShapesOf(nets.net);
  if (shapes.state().phase() == caffe::TEST) {
    SolverGraphs graphs{
        caffe::Net<float>(shapes).MemoryGraph(-1, options.keep, options.optimizations), {}};
    if (const layrub::Status status = ApplyOptions(options, &graphs); !status.ok()) return status;
    return graphs;
  }
  // Creates a solver of the wanted type, which knows how many history tensors a parameter has.
  SolverParameter param = nets.solver;
  *param.mutable_train_net_param() = shapes;
  *param.mutable_train_state() = shapes.state();
  for (const NetParameter& test : nets.tests) {
    *param.add_test_net_param() = ShapesOf(test);
    param.add_test_iter(1);
    param.set_test_interval(1);
  }
  const std::unique_ptr<caffe::Solver<float>> solver(
      caffe::SolverRegistry<float>::CreateSolver(param));
  WarnOfVaryingShapes(*solver->net());
  return solver->MemoryGraphs(options);
}

}  // namespace layrub_tool
