// Element-wise layers and MVN in place in nets that run under a plan.
#include "caffe/net.hpp"
#include "caffe/net/test/training.hpp"
#include "caffe/test/expect_error.hpp"
#include "layrub/placement/strategies/strategy.hpp"

namespace caffe {
namespace {

const char kInPlace[] = R"(
  layer { name: "x" type: "Input" top: "x" top: "target"
          input_param { shape { dim: 4 dim: 3 dim: 6 dim: 6 } shape { dim: 4 dim: 5 } } }
  layer { name: "conv1" type: "Convolution" bottom: "x" top: "conv1"
          convolution_param { num_output: 6 kernel_size: 3 weight_filler { type: "xavier" } } }
  layer { name: "prelu" type: "PReLU" bottom: "conv1" top: "conv1" }
  layer { name: "elu" type: "ELU" bottom: "conv1" top: "conv1" elu_param { alpha: 0.5 } }
  layer { name: "conv2" type: "Convolution" bottom: "conv1" top: "conv2"
          convolution_param { num_output: 6 kernel_size: 2 weight_filler { type: "xavier" } } }
  layer { name: "mvn" type: "MVN" bottom: "conv2" top: "conv2" }
  layer { name: "swish" type: "Swish" bottom: "conv2" top: "conv2" swish_param { beta: 1.5 } }
  layer { name: "clip" type: "Clip" bottom: "conv2" top: "conv2" clip_param { min: -0.1 max: 0.8 } }
  layer { name: "centre" type: "MVN" bottom: "conv2" top: "conv2"
          mvn_param { normalize_variance: false } }
  layer { name: "absval" type: "AbsVal" bottom: "conv2" top: "conv2" }
  layer { name: "shared" type: "PReLU" bottom: "conv2" top: "conv2"
          prelu_param { channel_shared: true } }
  layer { name: "ip" type: "InnerProduct" bottom: "conv2" top: "ip"
          inner_product_param { num_output: 5 weight_filler { type: "xavier" } } }
  layer { name: "bnll" type: "BNLL" bottom: "ip" top: "ip" }
  layer { name: "exp" type: "Exp" bottom: "ip" top: "ip" exp_param { base: 2 scale: 0.5 } }
  layer { name: "log" type: "Log" bottom: "ip" top: "ip" log_param { base: 10 shift: 1 } }
  layer { name: "loss" type: "EuclideanLoss" bottom: "ip" bottom: "target" top: "loss" }
)";

void FillInputs(Net<float>* net) {
  for (Blob<float>* blob : net->input_blobs()) {
    for (int i = 0; i < blob->count(); ++i)
      blob->mutable_cpu_data()[i] = static_cast<float>(i * 37 % 41) / 20.5f - 1;
  }
}

/// The gradients that two passes accumulate.
vector<float> Gradients(Net<float>* net) {
  FillInputs(net);
  net->ClearParamDiffs();
  for (int pass = 0; pass < 2; ++pass) net->ForwardBackward();
  vector<float> values;
  for (const Blob<float>* param : net->learnable_params())
    values.insert(values.end(), param->cpu_diff(), param->cpu_diff() + param->count());
  return values;
}

TEST(PlannedElementwiseLayers, GiveTheSameGradientsUnderEveryStrategy) {
  Caffe::set_random_seed(1701);
  Net<float> plain(ParseNet(kInPlace));
  const vector<float> expected = Gradients(&plain);
  ASSERT_TRUE(AllFinite(expected));
  for (const string& strategy : layrub::StrategyNames()) {
    Net<float> planned(ParseNet(kInPlace));
    planned.ShareTrainedLayersWith(&plain);
    PlacementOptions options;
    options.strategy = strategy;
    const layrub::Status status = planned.Place(options);
    ASSERT_TRUE(status.ok()) << strategy << ": " << status.message;
    EXPECT_TRUE(SameBits(Gradients(&planned), expected)) << strategy;
  }
}

string WithThreshold(const string& more) {
  return R"(
  layer { name: "x" type: "Input" top: "x" top: "target"
          input_param { shape { dim: 4 dim: 3 } shape { dim: 4 dim: 5 } } }
  layer { name: "hidden" type: "InnerProduct" bottom: "x" top: "hidden"
          inner_product_param { num_output: 4 weight_filler { type: "xavier" } } }
  layer { name: "step" type: "Threshold" bottom: "hidden" top: "hidden" )" +
         more + R"( }
  layer { name: "ip" type: "InnerProduct" bottom: "hidden" top: "ip"
          inner_product_param { num_output: 5 weight_filler { type: "xavier" } } }
  layer { name: "loss" type: "EuclideanLoss" bottom: "ip" bottom: "target" top: "loss" }
)";
}

TEST(PlannedElementwiseLayers, NoGradientPassesAThreshold) {
  PlacementOptions options;
  options.strategy = "hybrid";
  for (const bool placed : {false, true}) {
    Net<float> above(ParseNet(WithThreshold("propagate_down: false")));
    Net<float> through(ParseNet(WithThreshold("")));
    if (placed) {
      ASSERT_TRUE(above.Place(options).ok());
      ASSERT_TRUE(through.Place(options).ok());
    }
    EXPECT_GT(above.params()[0]->asum_data(), 0);
    Gradients(&above);
    EXPECT_GT(above.layer_by_name("ip")->blobs()[0]->asum_diff(), 0);
    FillInputs(&through);
    through.Forward();
    EXPECT_ERROR(through.Backward(), "Layer step \\(Threshold\\) has no gradient");
  }
}

}  // namespace
}  // namespace caffe
