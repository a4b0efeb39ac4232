// In-place layers run in one operation with the layer before them, and give the same bits as
// separate layers.
#include <algorithm>
#include <string>
#include <vector>

#include "caffe/net/test/tight_training.hpp"
#include "caffe/net/test/watcher.hpp"
#include "caffe/parameter_callback.hpp"

namespace caffe {

/// A source whose shape may change from pass to pass.
template <typename Dtype>
class GrowingLayer : public Layer<Dtype> {
 public:
  explicit GrowingLayer(const LayerParameter& param) : Layer<Dtype>(param) {}
  const char* type() const override { return "Growing"; }
  void Reshape(const vector<Blob<Dtype>*>&, const vector<Blob<Dtype>*>& top) override {
    top[0]->Reshape({rows, 6, 7, 9});
  }
  static inline int rows = 4;

 protected:
  void Forward_cpu(const vector<Blob<Dtype>*>&, const vector<Blob<Dtype>*>& top) override {
    for (int i = 0; i < top[0]->count(); ++i)
      top[0]->mutable_cpu_data()[i] = static_cast<Dtype>(i % 11);
  }
  void Backward_cpu(const vector<Blob<Dtype>*>&, const vector<bool>&,
                    const vector<Blob<Dtype>*>&) override {}
};
INSTANTIATE_CLASS(GrowingLayer);
REGISTER_LAYER_CLASS(Growing);

/// Has no traits.
template <typename Dtype>
class UntoldLayer : public Layer<Dtype> {
 public:
  explicit UntoldLayer(const LayerParameter& param) : Layer<Dtype>(param) {}
  const char* type() const override { return "Untold"; }
  void Reshape(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override {
    top[0]->ReshapeLike(*bottom[0]);
  }

 protected:
  void Forward_cpu(const vector<Blob<Dtype>*>&, const vector<Blob<Dtype>*>&) override {}
  void Backward_cpu(const vector<Blob<Dtype>*>&, const vector<bool>&,
                    const vector<Blob<Dtype>*>&) override {}
};
INSTANTIATE_CLASS(UntoldLayer);
REGISTER_LAYER_CLASS(Untold);

namespace {

string ConvolutionTo(const string& top, const string& bottom) {
  return R"(layer { name: ")" + top + R"(" type: "Convolution" bottom: ")" + bottom +
         R"(" top: ")" + top + R"(" convolution_param { num_output: 6 kernel_size: 3 pad: 1
             weight_filler { type: "xavier" } bias_term: false } })";
}

/// An in-place layer `name` on `blob`.
string OnItself(const string& name, const string& type, const string& blob, const string& more) {
  return R"(layer { name: ")" + name + R"(" type: ")" + type + R"(" bottom: ")" + blob +
         R"(" top: ")" + blob + R"(" )" + more + " }";
}

string Data() {
  return R"(layer { name: "in" type: "DummyData" top: "x"
            dummy_data_param { shape { dim: 4 dim: 5 dim: 7 dim: 9 }
                               data_filler { type: "gaussian" std: 2 } refill: false } })";
}

string LossOf(const string& bottom) {
  return R"(layer { name: "loss" type: "Power" bottom: ")" + bottom + R"(" top: "loss"
            loss_weight: 0.01 power_param { power: 2 shift: -1 } })";
}

/// conv1, then `layers`, which work in place or make "sum", then conv2.
string Between(const string& layers) {
  const bool sums = layers.find("\"sum\"") != string::npos;
  return Data() + ConvolutionTo("conv1", "x") + layers +
         ConvolutionTo("conv2", sums ? "sum" : "conv1") + LossOf("conv2");
}

struct Chain {
  string name, layers;
  std::vector<string> operations;  ///< the layers of its operations
};
void PrintTo(const Chain& chain, std::ostream* out) { *out << chain.name; }

const string kScale = OnItself("scale", "Scale", "conv1",
                               "scale_param { bias_term: true filler { type: \"gaussian\" std: 1 } "
                               "bias_filler { type: \"gaussian\" std: 0.3 } }");
const string kBatchNorm = OnItself("bn", "BatchNorm", "conv1", "");
const string kGlobal =
    OnItself("bn", "BatchNorm", "conv1", "batch_norm_param { use_global_stats: true eps: 1 }");
const string kReLU = OnItself("relu", "ReLU", "conv1", "");
const string kFrozenScale = OnItself("scale", "Scale", "conv1",
                                     "param { lr_mult: 0 } param { lr_mult: 0 } "
                                     "scale_param { bias_term: true bias_filler { value: 0.2 } }");

const string kReLU2 = OnItself("relu2", "ReLU", "sum", "");

/// A sum of conv1 and another convolution.
string Sum(const string& param) {
  return ConvolutionTo("side", "x") +
         R"(layer { name: "sum" type: "Eltwise" bottom: "conv1" bottom: "side" top: "sum" )" +
         param + " }";
}

std::vector<Chain> Chains() {
  return {
      {"all_three", kBatchNorm + kScale + kReLU, {"bn+scale+relu"}},
      {"without_relu", kBatchNorm + kScale, {"bn+scale"}},
      {"without_scale", kBatchNorm + kReLU, {"bn+relu"}},
      {"without_bias",
       kBatchNorm + OnItself("scale", "Scale", "conv1", "scale_param { filler { value: -2 } }") +
           kReLU,
       {"bn+scale+relu"}},
      {"leaky",
       kBatchNorm + kScale +
           OnItself("relu", "ReLU", "conv1", "relu_param { negative_slope: 0.3 }"),
       {"bn+scale+relu"}},
      {"negative_slope",
       kBatchNorm + kScale +
           OnItself("relu", "ReLU", "conv1", "relu_param { negative_slope: -0.5 }"),
       {"bn+scale+relu"}},
      {"global_statistics", kGlobal + kScale + kReLU, {"bn+scale+relu"}},
      {"all_frozen", kGlobal + kFrozenScale + kReLU, {"bn+scale+relu"}},
      {"all_frozen_negative_slope",
       kGlobal + kFrozenScale +
           OnItself("relu", "ReLU", "conv1", "relu_param { negative_slope: -0.5 }"),
       {"bn+scale+relu"}},
      {"frozen_scale", kBatchNorm + kFrozenScale + kReLU, {"bn+scale+relu"}},
      {"frozen_bias",
       kBatchNorm +
           OnItself("scale", "Scale", "conv1",
                    "param { } param { lr_mult: 0 } scale_param { bias_term: true }") +
           kReLU,
       {"bn+scale+relu"}},
      {"one_parameter",
       kBatchNorm +
           OnItself("scale", "Scale", "conv1",
                    "param { name: \"p\" } param { name: \"p\" } scale_param { bias_term: true }") +
           kReLU,
       {"bn+scale+relu"}},
      {"scale_of_its_own",
       OnItself("bn", "BatchNorm", "conv1", "batch_norm_param { scale_bias: true }") + kReLU,
       {"bn+relu"}},
      {"bn",
       OnItself("bn", "BN", "conv1", "bn_param { slope_filler { value: 0.7 } }") + kReLU,
       {"bn+relu"}},
      {"two_after_each_other",
       kBatchNorm + kReLU + OnItself("bn2", "BatchNorm", "conv1", "") +
           OnItself("scale2", "Scale", "conv1", ""),
       {"bn+relu", "bn2+scale2"}},
      {"two_relus",
       kBatchNorm + kReLU + OnItself("relu2", "ReLU", "conv1", ""),
       {"bn+relu", "relu2"}},
      {"scale_of_rows",
       kBatchNorm + OnItself("scale", "Scale", "conv1", "scale_param { axis: 2 num_axes: 1 }") +
           kReLU,
       {"bn", "scale", "relu"}},
      {"scale_of_all",
       kBatchNorm + OnItself("scale", "Scale", "conv1", "scale_param { num_axes: 0 }") + kReLU,
       {"bn", "scale", "relu"}},
      {"other_activation",
       kBatchNorm + kScale + OnItself("elu", "ELU", "conv1", ""),
       {"bn+scale", "elu"}},
      {"sum", Sum("") + kReLU2, {"side", "sum+relu2"}},
      {"weighted_sum",
       Sum("eltwise_param { coeff: 0.5 coeff: -2 }") + kReLU2,
       {"side", "sum+relu2"}},
      {"sum_negative_slope",
       Sum("") + OnItself("relu2", "ReLU", "sum", "relu_param { negative_slope: -0.5 }"),
       {"side", "sum+relu2"}},
      {"sum_of_normalised",
       kBatchNorm + kScale + Sum("eltwise_param { coeff: 1 coeff: 1 }") +
           OnItself("relu2", "ReLU", "sum", "relu_param { negative_slope: 0.1 }"),
       {"bn+scale", "side", "sum+relu2"}},
      {"sum_without_gradients",
       R"(layer { name: "side" type: "Power" bottom: "x" top: "side" power_param { scale: -2 } }
          layer { name: "sum" type: "Eltwise" bottom: "x" bottom: "side" top: "sum" })" +
           kReLU2,
       {"side", "sum+relu2"}},
      {"maximum", Sum("eltwise_param { operation: MAX }") + kReLU2, {"side", "sum", "relu2"}},
      {"product", Sum("eltwise_param { operation: PROD }") + kReLU2, {"side", "sum", "relu2"}},
      {"relu_first", kReLU + kBatchNorm, {"relu", "bn"}},
  };
}

/// The layers of the graph's forward operations in order, without Splits.
std::vector<string> ForwardLayers(const layrub::Graph& graph) {
  const string ending = "/forward";
  std::vector<string> names;
  for (const layrub::Op& op : graph.ops) {
    if (op.pass == layrub::Pass::kForward && op.name.find("_split") == string::npos)
      names.push_back(op.name.substr(0, op.name.size() - ending.size()));
  }
  return names;
}

std::vector<string> ForwardLayers(const string& net) {
  Net<float> wired(ParseNet(net));
  return ForwardLayers(wired.MemoryGraph(-1));
}

class FusedLayers : public ::testing::TestWithParam<Chain> {};

TEST_P(FusedLayers, AreOneOperation) {
  std::vector<string> expected = {"in", "conv1"};
  expected.insert(expected.end(), GetParam().operations.begin(), GetParam().operations.end());
  expected.insert(expected.end(), {"conv2", "loss"});
  EXPECT_EQ(ForwardLayers(Between(GetParam().layers)), expected);
}

TEST_P(FusedLayers, GiveTheSameBitsAsSeparateLayersInEveryVariant) {
  ExpectBitsOfUnplannedTraining(ParseNet(Between(GetParam().layers)), 3);
}

TEST_P(FusedLayers, GiveTheSameBitsAsPlansWithoutFusion) {
  const NetParameter net = ParseNet(Between(GetParam().layers));
  const auto train = [&](bool fused) {
    OpenSolver solver(SolverFor(net, "auto"));
    solver.mutable_placement_extra()->optimizations.layer_fusion = fused;
    solver.Step(2);
    return TrainedState(&solver);
  };
  EXPECT_TRUE(SameBits(train(true), train(false)));
}

TEST_P(FusedLayers, TestLikeSeparateLayers) {
  NetParameter param = ParseNet(Between(GetParam().layers));
  param.mutable_state()->set_phase(TEST);
  Caffe::set_random_seed(3);
  Net<float> net(param);
  const auto values = [](const Blob<float>& blob) {
    return std::vector<float>(blob.cpu_data(), blob.cpu_data() + blob.count());
  };
  net.Forward();
  // The same data again: the source was filled once.
  const std::vector<float> one_by_one = values(*net.blob_by_name("conv2"));
  PlacementOptions options;
  options.keep = {"conv2"};
  for (const string strategy : {"keep", "liveness"}) {
    options.strategy = strategy;
    ASSERT_TRUE(net.Place(options).ok());
    net.Forward();
    EXPECT_TRUE(SameBits(values(*net.blob_by_name("conv2")), one_by_one)) << strategy;
  }
}

INSTANTIATE_TEST_SUITE_P(Chains, FusedLayers, ::testing::ValuesIn(Chains()),
                         [](const auto& info) { return info.param.name; });

TEST(FusedLayer, BeginsWithALayerThatIsNotInPlace) {
  const string net = Data() + R"(layer { name: "bn" type: "BatchNorm" bottom: "x" top: "bn" })" +
                     OnItself("scale", "Scale", "bn", "") + OnItself("relu", "ReLU", "bn", "") +
                     ConvolutionTo("conv", "bn") + LossOf("conv");
  EXPECT_EQ(ForwardLayers(net), (std::vector<string>{"in", "bn+scale+relu", "conv", "loss"}));
}

TEST(FusedLayer, IsNotMadeIfOthersReadTheValueBetween) {
  const string net = Data() + R"(
      layer { name: "bn" type: "BatchNorm" bottom: "x" top: "bn" }
      layer { name: "scale" type: "Scale" bottom: "bn" top: "scale" }
      layer { name: "relu" type: "ReLU" bottom: "scale" top: "relu" })" +
                     ConvolutionTo("conv", "relu") + LossOf("conv");
  const auto layers = ForwardLayers(net);
  EXPECT_EQ(std::count(layers.begin(), layers.end(), "bn"), 1);
  EXPECT_EQ(std::count(layers.begin(), layers.end(), "scale"), 1);
  EXPECT_EQ(std::count(layers.begin(), layers.end(), "relu"), 1);
}

TEST(FusedLayer, IsNotMadeIfTheValueBetweenIsALoss) {
  const string net = Data() + ConvolutionTo("conv1", "x") + kBatchNorm + kScale +
                     OnItself("relu", "ReLU", "conv1", "loss_weight: 0.1");
  EXPECT_EQ(ForwardLayers(net), (std::vector<string>{"in", "conv1", "bn+scale", "relu"}));
}

TEST(FusedLayer, IsNotMadeIfLayersShareAParameter) {
  const string shared =
      OnItself("scale", "Scale", "conv1",
               "param { name: \"p\" lr_mult: 0 } scale_param { filler { value: 1 } }");
  const string net = Between(
      OnItself("bn", "BatchNorm", "conv1", "param { name: \"p\" lr_mult: 0 }") + shared + kReLU);
  const auto layers = ForwardLayers(net);
  EXPECT_EQ(std::count(layers.begin(), layers.end(), "scale"), 1);
}

TEST(FusedLayer, IsNotMadeUnderALayerWithoutTraits) {
  const string net = Data() + ConvolutionTo("conv1", "x") + kBatchNorm + kScale + kReLU +
                     R"(layer { name: "user" type: "Untold" bottom: "conv1" top: "user" })" +
                     LossOf("user");
  EXPECT_EQ(ForwardLayers(net),
            (std::vector<string>{"in", "conv1", "bn", "scale", "relu", "user", "loss"}));
}

TEST(FusedLayer, IsSplitAgainWhenACallbackIsAdded) {
  const NetParameter net = ParseNet(Between(kBatchNorm + kScale + kReLU));
  OpenSolver planned(SolverFor(net, "keep"));
  planned.Step(1);
  EXPECT_EQ(ForwardLayers(planned.net()->planned()->graph()).size(), 5u);
  Watcher of_planned(planned.net().get());
  planned.net()->add_after_forward(&of_planned);
  planned.Step(1);
  EXPECT_EQ(ForwardLayers(planned.net()->planned()->graph()).size(), 7u);

  OpenSolver plain(SolverFor(net));
  TrainUnplanned(&plain, 1);
  Watcher of_plain(plain.net().get());
  plain.net()->add_after_forward(&of_plain);
  TrainUnplanned(&plain, 1);
  ASSERT_EQ(of_plain.seen.size(), 4u);
  EXPECT_TRUE(SameBits(of_planned.seen, of_plain.seen));
  EXPECT_TRUE(SameBits(TrainedState(&planned), TrainedState(&plain)));
}

/// Notes for which layers it is called, and the gradient of the scale at that time.
class GradientNoter : public ParameterCallback<float> {
 public:
  explicit GradientNoter(Net<float>* net) : net_(net) {}
  std::vector<int> layers;
  std::vector<float> gradients;

 protected:
  void run(int layer) override {
    layers.push_back(layer);
    gradients.push_back(net_->layer_by_name("scale")->blobs()[0]->cpu_diff()[2]);
  }

 private:
  Net<float>* const net_;
};

TEST(FusedLayer, IsKeptWithParameterCallbacks) {
  const NetParameter net = ParseNet(Between(kBatchNorm + kScale + kReLU));
  const auto note = [&](bool planned) {
    OpenSolver solver(SolverFor(net, "keep"));
    if (planned) {
      EXPECT_TRUE(solver.Place().ok());
    }
    GradientNoter forward(solver.net().get()), backward(solver.net().get());
    solver.net()->add_before_forward(&forward);
    solver.net()->add_after_forward(&forward);
    solver.net()->add_before_backward(&backward);
    solver.net()->add_after_backward(&backward);
    solver.net()->ClearParamDiffs();
    solver.net()->ForwardBackward();
    if (planned) {
      EXPECT_EQ(ForwardLayers(solver.net()->planned()->graph()).size(), 5u);
      // Without fusion it is called before and after each layer; with it, before all layers of a
      // fused one, then after all.
      EXPECT_EQ(std::vector<int>(forward.layers.begin() + 4, forward.layers.begin() + 10),
                (std::vector<int>{2, 3, 4, 2, 3, 4}));
      EXPECT_EQ(std::vector<int>(backward.layers.begin() + 4, backward.layers.begin() + 10),
                (std::vector<int>{4, 3, 2, 4, 3, 2}));
      EXPECT_EQ(backward.gradients[6], 0);    // before
      EXPECT_NE(backward.gradients[8], 0.f);  // after
    }
    std::sort(forward.layers.begin(), forward.layers.end());
    std::sort(backward.layers.begin(), backward.layers.end());
    EXPECT_EQ(forward.layers, backward.layers);
    return std::pair(forward.layers, backward.gradients.back());
  };
  EXPECT_EQ(note(true), note(false));
}

TEST(FusedLayer, RunsAsSeparateLayersWhenThePassLeavesThePlan) {
  const NetParameter net = ParseNet(
      Data() + ConvolutionTo("conv1", "x") + kBatchNorm + kScale + kReLU +
      ConvolutionTo("conv2", "conv1") + R"(layer { name: "more" type: "Growing" top: "more" })" +
      OnItself("bn3", "BatchNorm", "more", "") + OnItself("scale3", "Scale", "more", "") +
      LossOf("conv2") +
      R"(layer { name: "loss2" type: "Power" bottom: "more" top: "loss2" loss_weight: 0.01
         power_param { power: 2 shift: -1 } })");
  const auto train = [&](const string& strategy, bool fused) {
    GrowingLayer<float>::rows = 4;
    OpenSolver solver(SolverFor(net, strategy));
    solver.mutable_placement_extra()->optimizations.layer_fusion = fused;
    for (const int rows : {4, 4, 3, 3}) {
      GrowingLayer<float>::rows = rows;
      if (strategy.empty()) {
        TrainUnplanned(&solver, 1);
      } else {
        solver.Step(1);
      }
    }
    return TrainedState(&solver);
  };
  const std::vector<float> unplanned = train("", false);
  ASSERT_TRUE(AllFinite(unplanned));
  for (const bool fused : {false, true}) {
    for (const string strategy : {"keep", "intra", "hybrid", "superneurons"})
      EXPECT_TRUE(SameBits(train(strategy, fused), unplanned)) << strategy << " " << fused;
  }
}

}  // namespace
}  // namespace caffe
