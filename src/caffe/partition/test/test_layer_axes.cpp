// Every layer type, cut along each of its axes, computes the same as the whole layer.
#include <set>

#include "caffe/layer_factory.hpp"
#include "caffe/util/io.hpp"
#include "divided_nets.hpp"

namespace caffe {
namespace {

using layrub::partition::Axis;
using layrub::partition::Partition;
using layrub::partition::SearchGoal;

/// Layers of one type between convolutions that learn. They read "x" (8 x 8 x 4 x 4) and optionally
/// "z" of the same shape, and make "y".
struct Case {
  string name, type, layers;
};

string LayerOf(const string& type, const string& bottoms, const string& more) {
  return "layer { name: \"l\" type: \"" + type + "\" " + bottoms + " top: \"y\" " + more + " }";
}
string OfX(const string& type, const string& more = "") {
  return LayerOf(type, "bottom: \"x\"", more);
}
string OfXAndZ(const string& type, const string& more = "") {
  return LayerOf(type, "bottom: \"x\" bottom: \"z\"", more);
}

std::vector<Case> Cases() {
  const string xavier = R"(weight_filler { type: "xavier" } bias_filler { type: "uniform" })";
  return {
      {"Convolution", "Convolution",
       OfX("Convolution",
           "convolution_param { num_output: 8 kernel_size: 3 pad: 1 " + xavier + " }")},
      {"ConvolutionWithoutBias", "Convolution",
       OfX("Convolution",
           "convolution_param { num_output: 4 kernel_size: 3 bias_term: false " + xavier + " }")},
      {"GroupedConvolution", "Convolution",
       OfX("Convolution",
           "convolution_param { num_output: 8 kernel_size: 3 group: 4 " + xavier + " }")},
      {"Deconvolution", "Deconvolution",
       OfX("Deconvolution",
           "convolution_param { num_output: 4 kernel_size: 2 stride: 2 " + xavier + " }")},
      {"GroupedDeconvolution", "Deconvolution",
       OfX("Deconvolution",
           "convolution_param { num_output: 8 kernel_size: 2 group: 2 " + xavier + " }")},
      {"DepthwiseConvolution", "DepthwiseConvolution",
       OfX("DepthwiseConvolution",
           "convolution_param { num_output: 8 kernel_size: 3 " + xavier + " }")},
      {"ConvolutionDepthwise", "ConvolutionDepthwise",
       OfX("ConvolutionDepthwise",
           "convolution_param { num_output: 8 kernel_size: 3 " + xavier + " }")},
      {"NdConvolution", "NdConvolution",
       OfX("NdConvolution",
           "convolution_param { num_output: 4 kernel_shape { dim: 3 dim: 3 } stride_shape { dim: 1 "
           "dim: 1 } " +
               xavier + " }")},
      {"InnerProduct", "InnerProduct",
       OfX("InnerProduct", "inner_product_param { num_output: 8 " + xavier + " }")},
      {"TransposedInnerProduct", "InnerProduct",
       OfX("InnerProduct",
           "inner_product_param { num_output: 8 axis: 2 transpose: true " + xavier + " }")},
      {"Im2col", "Im2col", OfX("Im2col", "convolution_param { kernel_size: 3 }")},
      {"Pooling", "Pooling", OfX("Pooling", "pooling_param { kernel_size: 3 stride: 2 }")},
      {"AveragePooling", "Pooling",
       OfX("Pooling", "pooling_param { pool: AVE global_pooling: true }")},
      {"SPP", "SPP", OfX("SPP", "spp_param { pyramid_height: 2 }")},
      {"Interp", "Interp", OfX("Interp", "interp_param { height: 6 width: 6 }")},
      {"Upsample", "Upsample",
       R"(layer { name: "pool" type: "Pooling" bottom: "x" top: "p" top: "m"
                  pooling_param { kernel_size: 2 stride: 2 } }
          layer { name: "l" type: "Upsample" bottom: "p" bottom: "m" top: "y" upsample_param { scale: 2 } })"},
      {"ROIPooling", "ROIPooling",
       R"(layer { name: "rois" type: "DummyData" top: "rois"
                  dummy_data_param { shape { dim: 4 dim: 5 } data_filler { type: "constant" value: 2 } } }
          layer { name: "l" type: "ROIPooling" bottom: "x" bottom: "rois" top: "y"
                  roi_pooling_param { pooled_h: 2 pooled_w: 2 spatial_scale: 1 } })"},
      {"LRN", "LRN", OfX("LRN", "lrn_param { local_size: 3 alpha: 0.5 }")},
      {"LRNWithinChannels", "LRN",
       OfX("LRN", "lrn_param { local_size: 3 alpha: 0.5 norm_region: WITHIN_CHANNEL }")},
      {"BatchNorm", "BatchNorm", OfX("BatchNorm")},
      {"BatchNormWithScale", "BatchNorm",
       OfX("BatchNorm", "batch_norm_param { scale_bias: true } ")},
      {"BatchNormThenScale", "BatchNorm",
       R"(layer { name: "l" type: "BatchNorm" bottom: "x" top: "n" }
          layer { name: "s" type: "Scale" bottom: "n" top: "n" scale_param { bias_term: true } }
          layer { name: "r" type: "ReLU" bottom: "n" top: "y" })"},
      {"BN", "BN", OfX("BN")},
      {"Normalize", "Normalize", OfX("Normalize")},
      {"MVN", "MVN", OfX("MVN")},
      {"MVNAcrossChannels", "MVN", OfX("MVN", "mvn_param { across_channels: true }")},
      {"Scale", "Scale",
       OfX("Scale", "scale_param { bias_term: true filler { type: \"uniform\" } }")},
      {"ScaleByABottom", "Scale", OfXAndZ("Scale", "scale_param { axis: 0 }")},
      {"Bias", "Bias", OfX("Bias", "bias_param { filler { type: \"uniform\" } }")},
      {"PReLU", "PReLU", OfX("PReLU", "prelu_param { filler { type: \"uniform\" } }")},
      {"SharedPReLU", "PReLU", OfX("PReLU", "prelu_param { channel_shared: true }")},
      {"Eltwise", "Eltwise", OfXAndZ("Eltwise", "eltwise_param { operation: PROD }")},
      {"Concat", "Concat", OfXAndZ("Concat")},
      {"ConcatThenConvolution", "Convolution",
       R"(layer { name: "c" type: "Concat" bottom: "x" bottom: "z" bottom: "x" top: "c" }
          layer { name: "l" type: "Convolution" bottom: "c" top: "y"
                  convolution_param { num_output: 4 kernel_size: 1 weight_filler { type: "xavier" } } })"},
      {"Slice", "Slice",
       R"(layer { name: "l" type: "Slice" bottom: "x" top: "a" top: "b" }
          layer { name: "sum" type: "Eltwise" bottom: "a" bottom: "b" top: "y" })"},
      {"Softmax", "Softmax", OfX("Softmax")},
      {"Flatten", "Flatten", OfX("Flatten")},
      {"Reshape", "Reshape", OfX("Reshape", "reshape_param { shape { dim: 8 dim: -1 dim: 4 } }")},
      {"Permute", "Permute",
       OfX("Permute", "permute_param { order: 0 order: 3 order: 1 order: 2 }")},
      {"Tile", "Tile", OfX("Tile", "tile_param { tiles: 2 axis: 2 }")},
      {"Crop", "Crop", OfXAndZ("Crop", "crop_param { axis: 2 }")},
      {"Reorg", "Reorg", OfX("Reorg", "reorg_param { stride: 2 }")},
      {"ShuffleChannel", "ShuffleChannel",
       OfX("ShuffleChannel", "shuffle_channel_param { group: 2 }")},
      {"Reduction", "Reduction", OfX("Reduction", "reduction_param { axis: 2 }")},
      {"Axpy", "Axpy",
       R"(layer { name: "a" type: "Pooling" bottom: "x" top: "a" pooling_param { pool: AVE global_pooling: true } }
          layer { name: "l" type: "Axpy" bottom: "a" bottom: "x" bottom: "z" top: "y" })"},
      {"Dropout", "Dropout", OfX("Dropout")},
      {"Embed", "Embed",
       R"(layer { name: "i" type: "DummyData" top: "i"
                  dummy_data_param { shape { dim: 8 dim: 4 } data_filler { type: "constant" value: 2 } } }
          layer { name: "e" type: "Silence" bottom: "x" }
          layer { name: "l" type: "Embed" bottom: "i" top: "y"
                  embed_param { input_dim: 5 num_output: 8 weight_filler { type: "xavier" } } })"},
      {"ArgMax", "ArgMax",
       R"(layer { name: "l" type: "ArgMax" bottom: "x" top: "largest" }
          layer { name: "s" type: "Silence" bottom: "largest" }
          layer { name: "c" type: "Power" bottom: "x" top: "y" })"},
      {"Silence", "Silence",
       R"(layer { name: "l" type: "Silence" bottom: "x" }
          layer { name: "c" type: "Power" bottom: "x" top: "y" })"},
      {"LSTM", "LSTM",
       R"(layer { name: "t" type: "DummyData" top: "cont"
                  dummy_data_param { shape { dim: 8 dim: 8 } data_filler { type: "constant" value: 1 } } }
          layer { name: "l" type: "LSTM" bottom: "x" bottom: "cont" top: "y"
                  recurrent_param { num_output: 4 weight_filler { type: "uniform" min: -0.1 max: 0.1 } } })"},
      {"RNN", "RNN",
       R"(layer { name: "t" type: "DummyData" top: "cont"
                  dummy_data_param { shape { dim: 8 dim: 8 } data_filler { type: "constant" value: 1 } } }
          layer { name: "l" type: "RNN" bottom: "x" bottom: "cont" top: "y"
                  recurrent_param { num_output: 4 weight_filler { type: "uniform" min: -0.1 max: 0.1 } } })"},
      {"LSTMUnit", "LSTMUnit",
       R"(layer { name: "g" type: "DummyData" top: "c0" top: "on"
                  dummy_data_param { shape { dim: 1 dim: 8 dim: 32 } shape { dim: 1 dim: 8 }
                                     data_filler { type: "constant" value: 0.5 } } }
          layer { name: "v" type: "Reshape" bottom: "x" top: "gates" reshape_param { shape { dim: 1 dim: 8 dim: 128 } } }
          layer { name: "l" type: "LSTMUnit" bottom: "c0" bottom: "gates" bottom: "on" top: "y" top: "h" }
          layer { name: "s" type: "Silence" bottom: "h" })"},
      {"DummyData", "DummyData",
       R"(layer { name: "l" type: "DummyData" top: "noise"
                  dummy_data_param { shape { dim: 8 dim: 8 dim: 4 dim: 4 } data_filler { type: "gaussian" std: 1 } } }
          layer { name: "s" type: "Eltwise" bottom: "x" bottom: "noise" top: "y" })"},
      {"ReLU", "ReLU", OfX("ReLU", "relu_param { negative_slope: 0.3 }")},
      {"ReLU6", "ReLU6", OfX("ReLU6")},
      {"Sigmoid", "Sigmoid", OfX("Sigmoid")},
      {"TanH", "TanH", OfX("TanH")},
      {"ELU", "ELU", OfX("ELU")},
      {"Swish", "Swish", OfX("Swish")},
      {"Clip", "Clip", OfX("Clip", "clip_param { min: -1 max: 1 }")},
      {"BNLL", "BNLL", OfX("BNLL")},
      {"AbsVal", "AbsVal", OfX("AbsVal")},
      {"Power", "Power", OfX("Power", "power_param { power: 2 shift: 1 }")},
      {"Exp", "Exp", OfX("Exp", "exp_param { scale: 0.5 }")},
      {"Log", "Log",
       R"(layer { name: "e" type: "Exp" bottom: "x" top: "e" }
          layer { name: "l" type: "Log" bottom: "e" top: "y" })"},
      {"SoftmaxLosses", "SoftmaxLosses",
       R"(layer { name: "c" type: "ArgMax" bottom: "data" top: "classes" argmax_param { axis: 1 } }
          layer { name: "l" type: "SoftmaxWithLoss" bottom: "x" bottom: "classes" top: "each"
                  loss_param { ignore_label: 1 } }
          layer { name: "c" type: "Power" bottom: "x" top: "y" })"},
      {"Threshold", "Threshold",
       R"(layer { name: "l" type: "Threshold" bottom: "x" top: "above" }
          layer { name: "s" type: "Silence" bottom: "above" }
          layer { name: "c" type: "Power" bottom: "x" top: "y" })"},
  };
}

NetParameter NetWith(const Case& of) {
  const string convolution =
      "convolution_param { num_output: 8 kernel_size: 1 weight_filler { type: \"xavier\" } }";
  const string x =
      "layer { name: \"x\" type: \"Convolution\" bottom: \"data\" top: \"x\" " + convolution + " }";
  const string& layers = of.layers;
  const bool takes_z = layers.find("\"z\"") != string::npos;
  const string z =
      "layer { name: \"z\" type: \"Convolution\" bottom: \"data\" top: \"z\" " + convolution + " }";
  return testing::NetOfText(
      "layer { name: \"data\" type: \"DummyData\" top: \"data\" dummy_data_param { shape { dim: 8 "
      "dim: 4 dim: 4 dim: 4 } data_filler { type: \"gaussian\" std: 1 } } }" +
      x + (takes_z ? z : "") + layers +
      "layer { name: \"sum\" type: \"Reduction\" bottom: \"y\" top: \"loss\" loss_weight: 0.02 "
      "reduction_param { operation: SUMSQ } }");
}

class LayerAxes : public ::testing::TestWithParam<Case> {};

TEST_P(LayerAxes, PartsComputeTheSameAsTheWholeLayer) {
  string folder;
  MakeTempDir(&folder);
  const SolverParameter whole = testing::SolverOf(NetWith(GetParam()));
  const testing::Weights expected = testing::TrainWhole(whole);
  const NetAxes axes = testing::AxesOfNet(whole.net_param());
  size_t at = 0;
  while (axes.network.operations[at].name != "l") ++at;
  const auto& op = axes.network.operations[at];
  int tried = 0;
  for (int a = 0; a < static_cast<int>(op.axes.size()); ++a) {
    for (const int levels : {1, 2}) {
      if (op.axes[a].extent % (1 << levels) != 0) continue;
      SearchGoal wish;
      wish.allows = [&](int, int o, int axis) { return o != static_cast<int>(at) || axis == a; };
      const Partition partition = Search(axes.network, levels, wish);
      ASSERT_EQ(1 << levels, Parts(partition, static_cast<int>(at), a)) << op.axes[a].name;
      SCOPED_TRACE(op.axes[a].name + ", " + std::to_string(1 << levels) + " devices");
      testing::ExpectClose(
          expected,
          testing::TrainDivided(whole, testing::LocalSolver(whole, axes, partition), 1 << levels,
                                folder + "/run"),
          1e-9);
      if (HasFatalFailure()) return;
      ++tried;
    }
  }
  EXPECT_GT(tried, 0);
}

INSTANTIATE_TEST_SUITE_P(Types, LayerAxes, ::testing::ValuesIn(Cases()),
                         [](const auto& of) { return of.param.name; });

TEST(LayerAxes, OfAScalarAreLeftOut) {
  const NetAxes axes = testing::AxesOfNet(testing::NetOfText(R"(
    layer { name: "data" type: "DummyData" top: "x" top: "label"
            dummy_data_param { shape { dim: 4 dim: 2 } shape { dim: 4 } } }
    layer { name: "accuracy" type: "Accuracy" bottom: "x" bottom: "label" top: "accuracy" }
    layer { name: "silence" type: "Silence" bottom: "accuracy" })"));
  EXPECT_TRUE(axes.rules[2].axes.empty());
  EXPECT_EQ(axes.rules[2].reason, "it works on a scalar");
}

TEST(LayerAxes, AreKnownOrExplainedForEveryType) {
  const vector<string> known = TypesWithRules();
  for (const string& type : LayerRegistry<float>::LayerTypeList())
    EXPECT_TRUE(std::count(known.begin(), known.end(), type)) << type;
}

TEST(LayerAxes, OfEveryTypeAreTested) {
  // Image sources all copy their items with one class; test_partition tests it with Data.
  std::set<string> tried{"AnnotatedData", "Data", "DenseImageData", "ImageData", "WindowData"};
  for (const Case& of : Cases()) tried.insert(of.type);
  for (const string& type : TypesWithRules()) {
    if (tried.count(type)) continue;
    LayerShapes shapes;
    shapes.param.set_type(type);
    shapes.bottom = {{8, 8, 4, 4}, {8}};
    shapes.top = {{8, 8, 4, 4}};
    const LayerRule rule = RuleOf(shapes);
    EXPECT_TRUE(rule.axes.empty()) << type;
    EXPECT_FALSE(rule.reason.empty()) << type;
  }
}

}  // namespace
}  // namespace caffe
