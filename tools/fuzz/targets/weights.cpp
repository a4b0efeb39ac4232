// Weights and solver states, in both formats, loaded into a small net.
#include <google/protobuf/text_format.h>

#include <memory>

#include "caffe/caffe.hpp"
#include "caffe/sgd_solvers.hpp"
#include "fuzz/target.hpp"

namespace layrub_fuzz {
namespace {

caffe::Solver<float>& SmallSolver() {
  static const std::unique_ptr<caffe::Solver<float>> solver = [] {
    caffe::SolverParameter param;
    google::protobuf::TextFormat::ParseFromString(kSmallNet, param.mutable_net_param());
    param.set_type("SGD");
    param.set_base_lr(0.1F);
    param.set_lr_policy("fixed");
    param.set_momentum(0.9F);
    param.set_snapshot_prefix("small");
    return std::unique_ptr<caffe::Solver<float>>(caffe::SolverRegistry<float>::CreateSolver(param));
  }();
  return *solver;
}

void ReadModel(const std::string& bytes) {
  SmallSolver().net()->CopyTrainedLayersFrom(Write("model.caffemodel", bytes));
}

void ReadState(const std::string& bytes) {
  SmallSolver().Restore(Write("state.solverstate", bytes).c_str());
}

#ifdef USE_HDF5
void ReadModelH5(const std::string& bytes) {
  SmallSolver();
  Write("model.caffemodel.h5", bytes);
  ReadInChild([] { SmallSolver().net()->CopyTrainedLayersFrom("model.caffemodel.h5"); });
}

void ReadStateH5(const std::string& bytes) {
  SmallSolver();
  Write("state.solverstate.h5", bytes);
  ReadInChild([] { SmallSolver().Restore("state.solverstate.h5"); });
}
#endif

/// Writes a snapshot and returns the names of its files, model and state.
std::vector<std::string> Snapshot(caffe::SolverParameter::SnapshotFormat format,
                                  const std::string& ending) {
  caffe::SolverParameter param = SmallSolver().param();
  param.set_snapshot_format(format);
  const std::unique_ptr<caffe::Solver<float>> solver(
      caffe::SolverRegistry<float>::CreateSolver(param));
  solver->Snapshot();
  return {"small_iter_0.caffemodel" + ending, "small_iter_0.solverstate" + ending};
}

std::vector<std::string> BinarySnapshot() {
  return Snapshot(caffe::SolverParameter::BINARYPROTO, "");
}

std::vector<std::string> ModelSeeds() { return {Contents(BinarySnapshot()[0])}; }
std::vector<std::string> StateSeeds() { return {Contents(BinarySnapshot()[1])}; }

const Registration model({"caffemodel", &ReadModel, &ModelSeeds, nullptr,
                          &New<caffe::NetParameter>});
const Registration state({"solverstate", &ReadState, &StateSeeds, nullptr,
                          &New<caffe::SolverState>});

#ifdef USE_HDF5
std::vector<std::string> Hdf5Snapshot() { return Snapshot(caffe::SolverParameter::HDF5, ".h5"); }
std::vector<std::string> ModelH5Seeds() { return {Contents(Hdf5Snapshot()[0])}; }
std::vector<std::string> StateH5Seeds() { return {Contents(Hdf5Snapshot()[1])}; }

const Registration model_h5({"caffemodel_h5", &ReadModelH5, &ModelH5Seeds});
const Registration state_h5({"solverstate_h5", &ReadStateH5, &StateH5Seeds});
#endif

}  // namespace
}  // namespace layrub_fuzz
