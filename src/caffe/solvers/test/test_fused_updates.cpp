// The loops of a parameter's update run together, tile by tile, with the bits of one after the
// other.
#include "caffe/net/test/tight_training.hpp"

namespace caffe {
namespace {

// Parameters of several shapes, some of them larger than a tile.
const char kNet[] = R"(
  layer { name: "in" type: "DummyData" top: "x" dummy_data_param { shape { dim: 3 dim: 5 dim: 7 dim: 9 }
          data_filler { type: "gaussian" } } }
  layer { name: "conv1" type: "Convolution" bottom: "x" top: "conv1"
          convolution_param { num_output: 6 kernel_size: 3 pad: 1 weight_filler { type: "xavier" } } }
  layer { name: "bn1" type: "BatchNorm" bottom: "conv1" top: "conv1" }
  layer { name: "scale1" type: "Scale" bottom: "conv1" top: "conv1" scale_param { bias_term: true } }
  layer { name: "relu1" type: "ReLU" bottom: "conv1" top: "conv1" }
  layer { name: "conv2" type: "Convolution" bottom: "conv1" top: "conv2"
          convolution_param { num_output: 6 kernel_size: 1 weight_filler { type: "xavier" } } }
  layer { name: "bn2" type: "BatchNorm" bottom: "conv2" top: "bn2" }
  layer { name: "scale2" type: "Scale" bottom: "bn2" top: "scale2" scale_param { bias_term: true } }
  layer { name: "sum" type: "Eltwise" bottom: "conv1" bottom: "scale2" top: "sum" }
  layer { name: "relu2" type: "ReLU" bottom: "sum" top: "relu2" }
  layer { name: "ip" type: "InnerProduct" bottom: "relu2" top: "ip"
          inner_product_param { num_output: 40 weight_filler { type: "xavier" } } }
  layer { name: "bn4" type: "BatchNorm" bottom: "ip" top: "ip" }
  layer { name: "scale4" type: "Scale" bottom: "ip" top: "ip" scale_param { bias_term: true } }
  layer { name: "sigmoid4" type: "Sigmoid" bottom: "ip" top: "ip" }
  layer { name: "relu5" type: "ReLU" bottom: "ip" top: "relu5" loss_weight: 0.5 }
  layer { name: "loss" type: "Power" bottom: "relu5" top: "loss" loss_weight: 1
          power_param { power: 2 shift: -1 } }
)";

constexpr int kIterations = 4;

/// A user's solver, whose update accesses blobs as Caffe's own did.
class PlainStep : public SGDSolver<float> {
 public:
  using SGDSolver<float>::SGDSolver;

 protected:
  void ComputeUpdateValue(int param_id, float rate) override {
    Blob<float>* param = net_->learnable_params()[param_id];
    float* const step = param->mutable_cpu_diff();
    float* const history = history_[param_id]->mutable_cpu_data();
    const float local_rate = rate * net_->params_lr()[param_id];
    for (int i = 0; i < param->count(); ++i)
      step[i] = history[i] = 0.9f * history[i] + local_rate * step[i];
  }
};

TEST(FusedUpdates, MatchAUsersUnfusedUpdate) {
  OpenSolver ours(SolverFor(ParseNet(kNet), "keep"));
  ours.Step(kIterations);
  PlainStep theirs(SolverFor(ParseNet(kNet), "keep"));
  theirs.Step(kIterations);
  for (size_t i = 0; i < ours.net()->learnable_params().size(); ++i) {
    const Blob<float>&a = *ours.net()->learnable_params()[i],
          &b = *theirs.net()->learnable_params()[i];
    EXPECT_TRUE(std::equal(a.cpu_data(), a.cpu_data() + a.count(), b.cpu_data())) << i;
  }
}

}  // namespace
}  // namespace caffe
