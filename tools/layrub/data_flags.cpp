#include "caffe/util/shape_only.hpp"
#include "caffe/util/synthetic_data.hpp"
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

}  // namespace

std::vector<int> DataShapeFlag() {
  std::vector<int> shape;
  for (const std::string& part : SplitList(FLAGS_data_shape)) {
    size_t used = 0;
    int dim = 0;
    try {
      dim = std::stoi(part, &used);
    } catch (const std::exception&) {
      used = 0;
    }
    if (used == 0 || used != part.size() || dim < 1) used = std::string::npos;
    if (used == std::string::npos)
      Fail("--data_shape=" + FLAGS_data_shape + ": three numbers are needed: C,H,W.");
    shape.push_back(dim);
  }
  if (!shape.empty() && shape.size() != 3) {
    Fail("--data_shape=" + FLAGS_data_shape + ": three numbers are needed: C,H,W.");
  }
  return shape;
}

void ApplyDataFlags(NetParameter* net) {
  const std::string batch = "--batch=" + std::to_string(FLAGS_batch);
  if (Given("batch") && FLAGS_batch < 1) Fail(batch + ": a number from 1 upwards is needed.");
  if (FLAGS_batch > 0 && caffe::SetBatchSize(FLAGS_batch, net) == 0)
    Fail(batch + ": no layer of the net has a batch_size.");
  if (FLAGS_synthetic) *net = caffe::WithSyntheticData(*net, DataShapeFlag());
}

void ApplyDataFlags(SolverParameter* solver) {
  if (FLAGS_synthetic && solver->random_seed() < 0) solver->set_random_seed(kSyntheticSeed);
  if (!FLAGS_synthetic && !Given("batch")) return;
  if (solver->has_net()) *solver->mutable_net_param() = ReadNet(solver->net());
  if (solver->has_train_net()) *solver->mutable_train_net_param() = ReadNet(solver->train_net());
  for (const std::string& file : solver->test_net()) *solver->add_test_net_param() = ReadNet(file);
  solver->clear_net();
  solver->clear_train_net();
  solver->clear_test_net();
  if (solver->has_net_param()) ApplyDataFlags(solver->mutable_net_param());
  if (solver->has_train_net_param()) ApplyDataFlags(solver->mutable_train_net_param());
  for (NetParameter& net : *solver->mutable_test_net_param()) ApplyDataFlags(&net);
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
  ApplyDataFlags(&net);
  if (FLAGS_synthetic) caffe::Caffe::set_random_seed(kSyntheticSeed);
  return net;
}

}  // namespace layrub_tool
