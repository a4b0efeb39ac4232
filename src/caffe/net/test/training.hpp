#ifndef CAFFE_NET_TEST_TRAINING_HPP_
#define CAFFE_NET_TEST_TRAINING_HPP_

#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "caffe/planned_net.hpp"
#include "caffe/sgd_solvers.hpp"
#include "caffe/test/source_folder.hpp"
#include "caffe/util/upgrade_proto.hpp"
#include "layrub/device/device.hpp"

namespace caffe {

/// The small nets on which every property of placement is tested.
inline std::vector<std::string> SmallNets() {
  return {"lenet",          "mini_resnet", "mini_googlenet", "mini_alexnet",
          "shared_weights", "mini_fcn",    "recurrent"};
}

inline NetParameter ReadNet(const std::string& name) {
  NetParameter net;
  ReadNetParamsFromTextFileOrDie(SourceFolder() + "/src/caffe/net/test/nets/" + name + ".prototxt",
                                 &net);
  net.mutable_state()->set_phase(TRAIN);
  return net;
}

/// Returns `net` with convolutions by Layrub's own kernels. Those of libraries do not use all of
/// the workspace that plans give them (the same bytes on every processor), and it may be larger
/// than a small net's values.
inline NetParameter WithOwnKernels(NetParameter net) {
  for (LayerParameter& layer : *net.mutable_layer()) {
    if (layer.has_convolution_param())
      layer.mutable_convolution_param()->set_engine(ConvolutionParameter::CAFFE);
  }
  return net;
}

inline NetParameter ParseNet(const std::string& text) {
  NetParameter net;
  CHECK(google::protobuf::TextFormat::ParseFromString(text, &net)) << text;
  if (!net.state().has_phase()) net.mutable_state()->set_phase(TRAIN);
  return net;
}

inline SolverParameter SolverFor(const NetParameter& net, const std::string& strategy = "") {
  SolverParameter solver;
  solver.mutable_net_param()->CopyFrom(net);
  solver.set_base_lr(0.02f);
  solver.set_lr_policy("fixed");
  solver.set_momentum(0.9f);
  solver.set_weight_decay(0.001f);
  solver.set_random_seed(1701);
  solver.set_max_iter(1000);
  solver.set_snapshot_after_train(false);
  solver.set_snapshot_prefix("unused");
  if (!strategy.empty()) solver.mutable_placement()->set_strategy(strategy);
  return solver;
}

/// Returns the --device_memory that leaves `bytes` to plans, besides those of the device's context
/// and libraries.
inline std::string BudgetFor(int64_t bytes) {
  const bool on_device = Caffe::mode() == Caffe::GPU;
  return std::to_string(bytes + (on_device ? Caffe::device().Usage().overhead_bytes() : 0));
}

/// A solver whose state is open to inspection.
class OpenSolver : public SGDSolver<float> {
 public:
  explicit OpenSolver(const SolverParameter& param) : SGDSolver<float>(param) {}
  const std::vector<shared_ptr<Blob<float>>>& state() const { return history_; }
};

/// Returns everything that training changes: parameters (with BatchNorm statistics) and history,
/// one after the other.
inline std::vector<float> TrainedState(OpenSolver* solver) {
  std::vector<float> values;
  const auto append = [&](const Blob<float>& blob) {
    values.insert(values.end(), blob.cpu_data(), blob.cpu_data() + blob.count());
  };
  for (Blob<float>* param : solver->net()->learnable_params()) append(*param);
  for (const auto& blob : solver->state()) append(*blob);
  return values;
}

/// Trains as Caffe does, without a memory plan, and returns the trained state.
inline std::vector<float> TrainUnplanned(OpenSolver* solver, int iterations) {
  for (int i = 0; i < iterations; ++i) {
    solver->net()->ClearParamDiffs();
    solver->net()->ForwardBackward();
    solver->ApplyUpdate();
  }
  EXPECT_EQ(solver->net()->planned(), nullptr);
  return TrainedState(solver);
}

inline bool SameBits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() &&
         (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0);
}

inline bool AllFinite(const std::vector<float>& values) {
  for (float value : values) {
    if (!std::isfinite(value)) return false;
  }
  return true;
}

}  // namespace caffe

#endif  // CAFFE_NET_TEST_TRAINING_HPP_
