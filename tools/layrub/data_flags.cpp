#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "caffe/placement_check.hpp"
#include "caffe/source_shapes.hpp"
#include "caffe/synthetic_data.hpp"
#include "caffe/util/upgrade_proto.hpp"
#include "layrub/commands.hpp"
#include "layrub/flags.hpp"

namespace layrub_tool {

namespace {

using caffe::NetParameter;
using caffe::SolverParameter;

/// Returns which layers matter only for their shapes, so that errors in their other fields are no
/// reason to refuse a net: data layers unless the command reads data (`reads_data`), and layers
/// that this program may lack unless it runs the nets (`runs`).
std::function<bool(const caffe::LayerParameter&)> OnlyShapesMatter(bool reads_data, bool runs) {
  return [=](const caffe::LayerParameter& layer) {
    return (!reads_data && caffe::ReadsOutside(layer)) || (!runs && caffe::MayBeMissing(layer));
  };
}

NetParameter ReadNet(const std::string& file, bool reads_data, bool runs) {
  NetParameter net;
  caffe::ReadNetParamsFromTextFileOrDie(file, &net, OnlyShapesMatter(reads_data, runs));
  const layrub::Status placement = caffe::CheckPlacement(net.placement());
  if (!placement.ok()) Fail(file + ": placement: " + placement.message);
  return net;
}

/// A flag that holds shapes, and its value.
struct ShapeFlag {
  std::string name, value;

  [[noreturn]] void Refuse(const std::string& why) const {
    Fail("--" + name + "=" + value + ": " + why);
  }
};

ShapeFlag DataShape() { return {"data_shape", FLAGS_data_shape}; }
ShapeFlag TopShape() { return {"top_shape", FLAGS_top_shape}; }

/// `text` as a positive number; 0 if it is not one.
int Dim(const std::string& text) {
  size_t used = 0;
  try {
    const int dim = std::stoi(text, &used);
    return used == text.size() && dim > 0 ? dim : 0;
  } catch (const std::exception&) {
    return 0;
  }
}

/// Parses NAME:N,N,NAME:N into shapes by name. Numbers before the first name are the shape of "".
std::map<std::string, std::vector<int>> Shapes(const ShapeFlag& flag, const std::string& example) {
  std::map<std::string, std::vector<int>> shapes;
  std::vector<int>* shape = nullptr;
  for (std::string part : SplitList(flag.value)) {
    if (const size_t colon = part.rfind(':'); colon != std::string::npos) {
      const std::string top = part.substr(0, colon);
      if (top.empty()) flag.Refuse("the name of a top is needed before ':'.");
      if (shapes.count(top) > 0) flag.Refuse("top " + top + " is given twice.");
      shape = &shapes[top];
      part.erase(0, colon + 1);
    }
    const int dim = Dim(part);
    if (dim == 0)
      flag.Refuse("'" + part + "' is not a number from 1 upwards; an example: " + example + ".");
    if (shape == nullptr) shape = &shapes[""];
    shape->push_back(dim);
  }
  return shapes;
}

}  // namespace

SolverParameter SolverFlag(bool runs) {
  SolverParameter solver;
  const bool reads_data = runs && !FLAGS_synthetic;
  caffe::ReadSolverParamsFromTextFileOrDie(FLAGS_solver, &solver,
                                           OnlyShapesMatter(reads_data, runs));
  return solver;
}

caffe::DataShapes DataShapeFlag() {
  caffe::DataShapes shapes;
  shapes.tops = Shapes(DataShape(), "3,8,8 or data:3,8,8,label:1");
  if (const auto first = shapes.tops.find(""); first != shapes.tops.end()) {
    shapes.first = first->second;
    shapes.tops.erase(first);
    if (shapes.first.size() != 3) DataShape().Refuse("three numbers are needed: C,H,W.");
  }
  return shapes;
}

std::map<std::string, std::vector<int>> TopShapeFlag() {
  std::map<std::string, std::vector<int>> shapes = Shapes(TopShape(), "rois:300,5");
  if (shapes.count("") > 0)
    TopShape().Refuse("the name of a top is needed before its shape, as rois:300,5.");
  return shapes;
}

void RefuseUnknownTops(const std::vector<NetParameter>& nets) {
  std::set<std::string> read, missing;
  for (const NetParameter& net : nets) {
    for (const caffe::LayerParameter& layer : net.layer()) {
      if (caffe::ReadsOutside(layer)) read.insert(layer.top().begin(), layer.top().end());
      if (caffe::MayBeMissing(layer)) missing.insert(layer.top().begin(), layer.top().end());
    }
  }
  for (const auto& [top, shape] : DataShapeFlag().tops) {
    if (read.count(top) == 0) DataShape().Refuse("no data layer of the net has a top " + top + ".");
  }
  for (const auto& [top, shape] : TopShapeFlag()) {
    if (missing.count(top) == 0)
      TopShape().Refuse("no layer that is not known here has a top " + top + ".");
  }
}

namespace {

/// `phases`: the phases in which the net is used.
void ApplyToNet(bool reads_data, const std::set<caffe::Phase>& phases, NetParameter* net) {
  const std::string batch = "--batch=" + std::to_string(FLAGS_batch);
  if (Given("batch") && FLAGS_batch < 1) Fail(batch + ": a number from 1 upwards is needed.");
  const bool only_shapes_matter = FLAGS_synthetic || !reads_data;
  if (FLAGS_batch > 0 && caffe::SetBatchSize(FLAGS_batch, only_shapes_matter, net) == 0)
    Fail(batch + ": no layer of the net has a batch_size.");
  if (FLAGS_synthetic) *net = caffe::WithSyntheticData(*net, DataShapeFlag(), phases);
}

}  // namespace

void ApplyDataFlags(bool reads_data, SolverParameter* solver) {
  if (FLAGS_synthetic && solver->random_seed() < 0) solver->set_random_seed(kSyntheticSeed);
  if (reads_data && !FLAGS_synthetic && !Given("batch")) return;
  const auto read = [&](const std::string& file) {
    return ReadNet(file, reads_data && !FLAGS_synthetic, reads_data);
  };
  if (solver->has_net()) *solver->mutable_net_param() = read(solver->net());
  if (solver->has_train_net()) *solver->mutable_train_net_param() = read(solver->train_net());
  for (const std::string& file : solver->test_net()) *solver->add_test_net_param() = read(file);
  solver->clear_net();
  solver->clear_train_net();
  solver->clear_test_net();
  std::vector<NetParameter> nets(solver->test_net_param().begin(), solver->test_net_param().end());
  nets.push_back(solver->net_param());
  nets.push_back(solver->train_net_param());
  if (FLAGS_synthetic) RefuseUnknownTops(nets);
  std::set<caffe::Phase> phases{caffe::TRAIN};
  if (!reads_data || solver->test_iter_size() > 0) phases.insert(caffe::TEST);
  if (solver->has_net_param()) ApplyToNet(reads_data, phases, solver->mutable_net_param());
  if (solver->has_train_net_param())
    ApplyToNet(reads_data, {caffe::TRAIN}, solver->mutable_train_net_param());
  for (NetParameter& net : *solver->mutable_test_net_param())
    ApplyToNet(reads_data, {caffe::TEST}, &net);
}

void RefuseDataShapeWithoutSynthetic(const std::string& command) {
  if (!FLAGS_data_shape.empty() && !FLAGS_synthetic)
    Fail("'" + command + "' reads its data: --data_shape goes with --synthetic.");
}

NetParameter NetOfFlags(const std::string& command, caffe::Phase phase) {
  RefuseDataShapeWithoutSynthetic(command);
  NetParameter net = ReadNet(FLAGS_model, !FLAGS_synthetic, true);
  net.mutable_state()->set_phase(phase);
  ApplyStateFlags(net.mutable_state());
  if (FLAGS_synthetic) RefuseUnknownTops({net});
  ApplyToNet(true, {phase}, &net);
  if (FLAGS_synthetic) caffe::Caffe::set_random_seed(kSyntheticSeed);
  return net;
}

}  // namespace layrub_tool
