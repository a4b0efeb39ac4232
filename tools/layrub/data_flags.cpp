#include <set>

#include "caffe/source_shapes.hpp"
#include "caffe/synthetic_data.hpp"
#include "caffe/util/upgrade_proto.hpp"
#include "layrub/commands.hpp"
#include "layrub/flags.hpp"

namespace layrub_tool {

namespace {

using caffe::NetParameter;
using caffe::SolverParameter;

NetParameter ReadNet(const std::string& file) {
  NetParameter net;
  caffe::ReadNetParamsFromTextFileOrDie(file, &net);
  return net;
}

[[noreturn]] void RefuseDataShape(const std::string& why) {
  Fail("--data_shape=" + FLAGS_data_shape + ": " + why);
}

/// `text` as a number of 1 or more, or 0.
int Dim(const std::string& text) {
  size_t used = 0;
  try {
    const int dim = std::stoi(text, &used);
    return used == text.size() && dim > 0 ? dim : 0;
  } catch (const std::exception&) {
    return 0;
  }
}

}  // namespace

caffe::DataShapes DataShapeFlag() {
  caffe::DataShapes shapes;
  std::vector<int>* shape = &shapes.first;
  for (std::string part : SplitList(FLAGS_data_shape)) {
    if (const size_t colon = part.rfind(':'); colon != std::string::npos) {
      const std::string top = part.substr(0, colon);
      if (top.empty()) RefuseDataShape("the name of a top is needed before ':'.");
      if (shapes.tops.count(top) > 0) RefuseDataShape("top " + top + " is given twice.");
      shape = &shapes.tops[top];
      part.erase(0, colon + 1);
    }
    const int dim = Dim(part);
    if (dim == 0 && shapes.tops.empty()) RefuseDataShape("three numbers are needed: C,H,W.");
    if (dim == 0)
      RefuseDataShape("'" + part +
                      "' is not a number from 1 upwards; an example: data:3,8,8,label:1.");
    shape->push_back(dim);
  }
  if (!shapes.first.empty() && shapes.first.size() != 3)
    RefuseDataShape("three numbers are needed: C,H,W.");
  return shapes;
}

void RefuseUnknownTops(const std::vector<NetParameter>& nets) {
  std::set<std::string> tops;
  for (const NetParameter& net : nets) {
    for (const caffe::LayerParameter& layer : net.layer()) {
      if (caffe::ReadsOutside(layer)) tops.insert(layer.top().begin(), layer.top().end());
    }
  }
  for (const auto& [top, shape] : DataShapeFlag().tops) {
    if (tops.count(top) == 0) RefuseDataShape("no data layer of the net has a top " + top + ".");
  }
}

void ApplyDataFlags(bool reads_data, NetParameter* net) {
  const std::string batch = "--batch=" + std::to_string(FLAGS_batch);
  if (Given("batch") && FLAGS_batch < 1) Fail(batch + ": a number from 1 upwards is needed.");
  const bool only_shapes_matter = FLAGS_synthetic || !reads_data;
  if (FLAGS_batch > 0 && caffe::SetBatchSize(FLAGS_batch, only_shapes_matter, net) == 0)
    Fail(batch + ": no layer of the net has a batch_size.");
  if (FLAGS_synthetic) *net = caffe::WithSyntheticData(*net, DataShapeFlag());
}

void ApplyDataFlags(bool reads_data, SolverParameter* solver) {
  if (FLAGS_synthetic && solver->random_seed() < 0) solver->set_random_seed(kSyntheticSeed);
  if (!FLAGS_synthetic && !Given("batch")) return;
  if (solver->has_net()) *solver->mutable_net_param() = ReadNet(solver->net());
  if (solver->has_train_net()) *solver->mutable_train_net_param() = ReadNet(solver->train_net());
  for (const std::string& file : solver->test_net()) *solver->add_test_net_param() = ReadNet(file);
  solver->clear_net();
  solver->clear_train_net();
  solver->clear_test_net();
  std::vector<NetParameter> nets(solver->test_net_param().begin(), solver->test_net_param().end());
  nets.push_back(solver->net_param());
  nets.push_back(solver->train_net_param());
  if (FLAGS_synthetic) RefuseUnknownTops(nets);
  if (solver->has_net_param()) ApplyDataFlags(reads_data, solver->mutable_net_param());
  if (solver->has_train_net_param()) ApplyDataFlags(reads_data, solver->mutable_train_net_param());
  for (NetParameter& net : *solver->mutable_test_net_param()) ApplyDataFlags(reads_data, &net);
}

void RefuseLoneDataShape(const std::string& command) {
  if (!FLAGS_data_shape.empty() && !FLAGS_synthetic)
    Fail("'" + command + "' reads its data: --data_shape goes with --synthetic.");
}

NetParameter NetOfFlags(const std::string& command, caffe::Phase phase) {
  RefuseLoneDataShape(command);
  NetParameter net = ReadNet(FLAGS_model);
  net.mutable_state()->set_phase(phase);
  ApplyStateFlags(net.mutable_state());
  if (FLAGS_synthetic) RefuseUnknownTops({net});
  ApplyDataFlags(true, &net);
  if (FLAGS_synthetic) caffe::Caffe::set_random_seed(kSyntheticSeed);
  return net;
}

}  // namespace layrub_tool
