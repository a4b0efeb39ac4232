// Layers that run for a part of the batch at a time: the same bits as for the whole batch, in less
// memory.
#include <algorithm>
#include <map>
#include <regex>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "caffe/net/test/tight_training.hpp"
#include "caffe/solver_plans.hpp"

namespace caffe {
namespace {

constexpr int kIterations = 3;

string Layer(const string& name, const string& type, const string& bottoms, const string& tops,
             const string& more = "") {
  string text = "layer { name: '" + name + "' type: '" + type + "' ";
  const auto add = [&](const string& field, const string& names) {
    for (size_t begin = 0; begin < names.size();) {
      const size_t end = std::min(names.find(' ', begin), names.size());
      text += field + ": '" + names.substr(begin, end - begin) + "' ";
      begin = end + 1;
    }
  };
  add("bottom", bottoms);
  add("top", tops);
  return text + more + " }\n";
}

string Convolved(const string& name, const string& bottom, const string& top,
                 const string& more = "num_output: 8 kernel_size: 3 pad: 1",
                 const string& type = "Convolution") {
  return Layer(name, type, bottom, top,
               "convolution_param { " + more +
                   " weight_filler { type: 'xavier' } bias_filler { type: 'uniform' } }");
}

/// A net of `items` images in which `layers` make 'features' of 'image'.
NetParameter NetOf(const string& layers, int items = 8) {
  const string shape = "shape { dim: " + std::to_string(items);
  const string text =
      Layer("data", "DummyData", "", "image label",
            "dummy_data_param { " + shape + " dim: 3 dim: 16 dim: 16 } " + shape +
                " } data_filler { type: 'gaussian' } data_filler { type: 'constant' value: 1 } }") +
      layers +
      Layer("pool", "Pooling", "features", "pooled",
            "pooling_param { pool: AVE kernel_size: 8 stride: 8 }") +
      Layer("score", "InnerProduct", "pooled", "score",
            "inner_product_param { num_output: 3 weight_filler { type: 'xavier' } }") +
      Layer("loss", "SoftmaxWithLoss", "score label", "loss");
  return WithOwnKernels(ParseNet(text));
}

/// Layers of these types, one after the other, from 'conv1' to 'features'.
string Chain(const std::vector<string>& types) {
  const std::map<string, string> settings = {{"Power", "power_param { power: 2 }"},
                                             {"Clip", "clip_param { min: -1 max: 1 }"}};
  string text, bottom = "conv1";
  for (const string& type : types) {
    const string top = &type == &types.back() ? "features" : "to_" + type;
    const auto set = settings.find(type);
    text += Layer("by_" + type, type, bottom, top, set == settings.end() ? "" : set->second);
    bottom = top;
  }
  return text;
}

/// Settings of losses of every pixel.
const std::vector<string> kPixelLosses = {
    "ignore_label: 1",
    "normalization: VALID",
    "normalization: FULL ignore_label: 0",
    "normalization: BATCH_SIZE",
    "normalization: NONE",
    "weight_by_label_freqs: true class_weighting: [ 0.5, 1, 2, 1, 1, 1, 1, 1, 1, 1, 1, 1 ]"};

/// Layers from 'image' to 'features' and to a loss of every pixel, of 12 classes.
string PixelLoss(const string& settings) {
  return Layer("pixels", "ArgMax", "image", "pixels", "argmax_param { axis: 1 }") +
         Convolved("conv1", "image", "conv1") +
         Convolved("scores", "conv1", "scores", "num_output: 12 kernel_size: 1") +
         Layer("pixel_loss", "SoftmaxWithLoss", "scores pixels", "pixel_loss",
               "loss_weight: 0.3 loss_param { " + settings + " }") +
         Convolved("conv2", "conv1", "features");
}

/// Layers that make 'features', by a name for the net.
std::map<string, string> Nets() {
  const string conv = Convolved("conv1", "image", "conv1");
  return {
      {"convolutions",
       conv + Layer("relu", "ReLU", "conv1", "conv1") + Convolved("conv2", "conv1", "features")},
      {"branches", conv + Convolved("a", "conv1", "a") + Convolved("b", "conv1", "b") +
                       Layer("concat", "Concat", "a b", "both") +
                       Layer("cut", "Slice", "both", "c d") +
                       Layer("sum", "Eltwise", "c d", "features")},
      {"maximum",
       conv + Convolved("conv2", "conv1", "conv2") +
           Layer("max", "Eltwise", "conv1 conv2", "features", "eltwise_param { operation: MAX }")},
      {"norm", conv + Layer("norm", "LRN", "conv1", "norm", "lrn_param { local_size: 3 }") +
                   Layer("within", "LRN", "norm", "features",
                         "lrn_param { norm_region: WITHIN_CHANNEL local_size: 3 }")},
      {"pooling", conv +
                      Layer("pool1", "Pooling", "conv1", "pool1",
                            "pooling_param { pool: MAX kernel_size: 3 stride: 1 pad: 1 }") +
                      Layer("pool2", "Pooling", "pool1", "features",
                            "pooling_param { pool: AVE kernel_size: 3 stride: 1 pad: 1 }")},
      {"activations", conv + Chain({"ELU", "Sigmoid", "Power", "TanH", "AbsVal", "BNLL", "Swish",
                                    "Exp", "Log", "ReLU6", "Clip", "Softmax"})},
      {"groups",
       conv +
           Convolved("halves", "conv1", "halves", "num_output: 8 group: 2 kernel_size: 3 pad: 1") +
           Convolved("point", "halves", "point", "num_output: 8 kernel_size: 1") +
           Convolved("up", "point", "features", "num_output: 4 kernel_size: 2 stride: 2",
                     "Deconvolution")},
      {"two losses", conv + Layer("relu", "ReLU", "conv1", "conv1") +
                         Convolved("conv2", "conv1", "features") +
                         Layer("aside", "Pooling", "conv1", "aside",
                               "pooling_param { pool: AVE global_pooling: true }") +
                         Layer("second", "InnerProduct", "aside", "second",
                               "inner_product_param { num_output: 2 weight_filler { type: 'xavier' "
                               "} }") +
                         Layer("loss2", "SoftmaxWithLoss", "second label", "loss2")},
      {"pixel loss", PixelLoss(kPixelLosses[0])},
  };
}

std::vector<string> Names() {
  std::vector<string> names;
  for (const auto& net : Nets()) names.push_back(net.first);
  return names;
}

struct SlicedSolver : OpenSolver {
  using OpenSolver::OpenSolver;
  using OpenSolver::ParameterHistory;
};

/// Whether slices of convolutions round here: on a GPU cuDNN may sum in another order.
bool Rounds() { return Net<float>(NetOf(Nets().at("convolutions"))).Slicings({}, false).empty(); }

/// Expects the same bits, or about the same values where slices round.
void ExpectAsWhole(const std::vector<float>& sliced, const std::vector<float>& whole) {
  if (!Rounds()) {
    EXPECT_TRUE(SameBits(sliced, whole));
    return;
  }
  ASSERT_EQ(sliced.size(), whole.size());
  for (size_t i = 0; i < whole.size(); ++i) ASSERT_NEAR(sliced[i], whole[i], 1e-4) << i;
}

std::vector<Slicing> SlicingsOf(const NetParameter& net) {
  return Net<float>(net).Slicings({}, Rounds());
}

std::vector<float> Unplanned(const NetParameter& net) {
  OpenSolver solver(SolverFor(net));
  return TrainUnplanned(&solver, kIterations);
}

/// Trains the net under a plan of `strategy` in these slices, without a budget.
std::vector<float> Sliced(const NetParameter& net, const string& strategy, const Slicing& slicing) {
  SlicedSolver solver(SolverFor(net));
  PlacementOptions options;
  options.strategy = strategy;
  options.slicing = slicing;
  options.executor.poison = true;
  const layrub::Status status = solver.net()->Place(options, solver.ParameterHistory());
  EXPECT_TRUE(status.ok()) << status.message;
  EXPECT_EQ(solver.net()->planned()->slices(), slicing.parts);
  for (int i = 0; i < kIterations; ++i) {
    solver.net()->ClearParamDiffs();
    solver.net()->ForwardBackward();
    solver.ApplyUpdate();
  }
  EXPECT_TRUE(solver.net()->planned()->executor().SentinelsIntact());
  return TrainedState(&solver);
}

class SlicedNet : public ::testing::TestWithParam<std::tuple<string, string>> {};

TEST_P(SlicedNet, TrainsToTheBitsOfTheWholeBatch) {
  const auto& [name, strategy] = GetParam();
  const NetParameter net = NetOf(Nets().at(name));
  const std::vector<float> whole = Unplanned(net);
  ASSERT_TRUE(AllFinite(whole));
  const std::vector<Slicing> slicings = SlicingsOf(net);
  ASSERT_FALSE(slicings.empty());
  for (const Slicing& slicing : slicings) ExpectAsWhole(Sliced(net, strategy, slicing), whole);
}

TEST(Slices, ReachOverAllLayersOfARange) {
  if (Rounds())
    GTEST_SKIP() << "workspaces of this device's libraries exceed the values of small nets";
  for (const auto& [name, text] : Nets()) {
    // In these, layers that cannot be sliced read or write large values.
    if (name == "two losses" || name == "pixel loss") continue;
    const Net<float> net(NetOf(text));
    const Slicing slicing = net.Slicings({}, Rounds()).back();
    std::set<string> sliced;
    for (const layrub::Op& op : net.MemoryGraph(1, {}, {}, false, false, slicing).ops)
      sliced.insert(op.name.substr(0, op.name.find("/1of")));
    for (const string& layer : net.layer_names()) {
      if (text.find("name: '" + layer + "'") == string::npos) continue;
      EXPECT_EQ(sliced.count(layer), 1u) << name << ": " << layer;
    }
  }
}

TEST(Slices, OfLossesAddUpToTheLossesOfTheWholeBatch) {
  for (const string& settings : kPixelLosses) {
    SCOPED_TRACE(settings);
    const NetParameter param = NetOf(PixelLoss(settings));
    const std::vector<Slicing> slicings = SlicingsOf(param);
    ASSERT_FALSE(slicings.empty());
    const Slicing slicing = slicings.back();
    const auto losses = [&](bool sliced) {
      Caffe::set_random_seed(1);
      Net<float> net(param);
      PlacementOptions options;
      options.strategy = "hybrid";
      options.slicing = slicing;
      if (sliced) CHECK(net.Place(options).ok());
      float sum = 0;
      net.Forward(&sum);
      return std::vector<float>{sum, net.blob_by_name("pixel_loss")->cpu_data()[0]};
    };
    ExpectAsWhole(losses(true), losses(false));
    std::map<string, int> passes;
    for (const layrub::Op& op : Net<float>(param).MemoryGraph(1, {}, {}, false, false, slicing).ops)
      ++passes[op.name];
    const string slice = "pixel_loss/1of" + std::to_string(slicing.parts);
    for (const string pass : {"/forward", "/backward"}) {
      EXPECT_EQ(passes[slice + pass], Rounds() ? passes[slice + pass] : 1);
      EXPECT_EQ(passes["pixel_loss/total" + pass], 1);
    }
  }
}

string NameOf(const ::testing::TestParamInfo<SlicedNet::ParamType>& info) {
  string name = std::get<0>(info.param) + "_" + std::get<1>(info.param);
  std::replace(name.begin(), name.end(), ' ', '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(EveryNet, SlicedNet,
                         ::testing::Combine(::testing::ValuesIn(Names()),
                                            ::testing::Values("keep", "hybrid", "superneurons")),
                         NameOf);

/// Trains within the smallest budget of "auto", and returns the trained state and that budget.
struct Tight {
  explicit Tight(SolverParameter param) {
    {
      OpenSolver free(param);
      PlacementOptions options;
      const auto graphs = free.MemoryGraphs(options);
      CHECK(graphs.ok()) << graphs.status().message;
      bytes = SmallestPlans(graphs.value(), options).value().device_bytes;
    }
    param.mutable_placement()->set_device_memory(BudgetFor(bytes));
    OpenSolver solver(param);
    solver.mutable_placement_extra()->executor.poison = true;
    solver.Step(kIterations);
    const PlannedNet<float>& planned = *solver.net()->planned();
    slices = planned.slices();
    EXPECT_LE(planned.plan().device_bytes, bytes);
    EXPECT_TRUE(planned.executor().SentinelsIntact());
    state = TrainedState(&solver);
  }
  int64_t bytes = 0;
  int slices = 1;
  std::vector<float> state;
};

TEST(Slices, AreTakenWhereNothingElseFits) {
  if (Rounds())
    GTEST_SKIP() << "workspaces of this device's libraries exceed the values of small nets";
  const NetParameter net = NetOf(Nets().at("convolutions"));
  const Tight sliced(SolverFor(net, "auto"));
  SolverParameter param = SolverFor(net, "auto");
  param.mutable_placement()->set_slices(false);
  OpenSolver whole(param);
  const auto options = ToOptions(param.placement()).value();
  const auto graphs = whole.MemoryGraphs(options);
  ASSERT_TRUE(graphs.ok());
  const int64_t bytes = SmallestPlans(graphs.value(), options).value().device_bytes;
  EXPECT_GT(sliced.slices, 1);
  EXPECT_LT(sliced.bytes, 0.6 * bytes);
  ExpectAsWhole(sliced.state, Unplanned(net));

  // With that budget nothing fits without them; with a larger one they are not used.
  param.mutable_placement()->set_device_memory(BudgetFor(sliced.bytes));
  EXPECT_EQ(OpenSolver(param).Place().code, layrub::Code::kDoesNotFit);
  param.mutable_placement()->clear_slices();
  param.mutable_placement()->set_device_memory(BudgetFor(bytes));
  OpenSolver ample(param);
  ASSERT_TRUE(ample.Place().ok());
  EXPECT_EQ(ample.net()->planned()->slices(), 1);
}

TEST(Slices, OfTestNetsGiveTheSameScores) {
  if (Rounds()) GTEST_SKIP() << "workspaces of this device's libraries exceed small nets' values";
  SolverParameter param = SolverFor(NetOf(Nets().at("convolutions")), "auto");
  *param.add_test_net_param() = NetOf(Nets().at("convolutions"), 32);
  param.add_test_iter(2);
  param.set_test_interval(2);
  const auto trained = [](const SolverParameter& wanted, int slices) {
    OpenSolver solver(wanted);
    solver.mutable_placement_extra()->executor.poison = true;
    solver.Step(kIterations);
    const PlannedNet<float>& test = *solver.test_nets()[0]->planned();
    EXPECT_EQ(test.slices() > 1, slices > 1) << test.slices();
    EXPECT_TRUE(test.executor().SentinelsIntact());
    std::vector<float> values = TrainedState(&solver);
    for (const auto& score : solver.test_scores().at(0)) values.push_back(score.second);
    return values;
  };
  const auto smallest = [&] {
    OpenSolver solver(param);
    const auto options = ToOptions(param.placement()).value();
    return SmallestPlans(solver.MemoryGraphs(options).value(), options).value().device_bytes;
  };
  const std::vector<float> whole = trained(param, 1);
  const int64_t sliced_bytes = smallest();
  param.mutable_placement()->set_slices(false);
  EXPECT_LT(sliced_bytes, 0.6 * smallest());
  param.mutable_placement()->set_device_memory(BudgetFor(sliced_bytes));
  EXPECT_EQ(OpenSolver(param).Place().code, layrub::Code::kDoesNotFit);
  param.mutable_placement()->clear_slices();
  EXPECT_TRUE(SameBits(trained(param, 2), whole));
}

TEST(Slices, StayWhenTheSolverPlansAgainWithMeasuredTimes) {
  if (Rounds()) GTEST_SKIP() << "workspaces of this device's libraries exceed small nets' values";
  constexpr int kUntilMeasured = 8;
  const NetParameter net = NetOf(Nets().at("convolutions"));
  OpenSolver reference(SolverFor(net));
  const std::vector<float> whole = TrainUnplanned(&reference, kUntilMeasured);
  const int64_t smallest = Tight(SolverFor(net, "auto")).bytes;
  for (const double factor : {1.0, 1.1, 1.3}) {
    SolverParameter param = SolverFor(net, "auto");
    const auto bytes = static_cast<int64_t>(factor * static_cast<double>(smallest));
    param.mutable_placement()->set_device_memory(BudgetFor(bytes));
    OpenSolver solver(param);
    ASSERT_TRUE(solver.Place().ok());
    const int slices = solver.net()->planned()->slices();
    EXPECT_GT(slices, 1);
    solver.Step(kUntilMeasured);
    EXPECT_EQ(solver.net()->planned()->slices(), slices);
    EXPECT_TRUE(SameBits(TrainedState(&solver), whole)) << factor;
  }
}

TEST(Slices, RoundSumsOnlyIfTheUserAllowsIt) {
  const string text =
      Convolved("conv1", "image", "conv1") + Layer("flat", "Flatten", "conv1", "flat") +
      Layer("ip", "InnerProduct", "flat", "ip",
            "inner_product_param { num_output: 4 weight_filler { type: 'xavier' } }") +
      Layer("shape", "Reshape", "ip", "features",
            "reshape_param { shape { dim: 0 dim: 1 dim: 2 "
            "dim: 2 } }");
  NetParameter net = NetOf(text, 64);
  net.mutable_layer(net.layer_size() - 3)->mutable_pooling_param()->set_kernel_size(2);
  const auto parts = [&](bool rounds) {
    const std::vector<Slicing> slicings = Net<float>(net).Slicings({}, rounds);
    return slicings.empty() ? 1 : slicings.back().parts;
  };
  EXPECT_GT(parts(true), parts(false));
  const std::vector<float> whole = Unplanned(net);
  const std::vector<float> rounded = Sliced(net, "keep", {parts(true), true});
  ASSERT_EQ(rounded.size(), whole.size());
  EXPECT_FALSE(SameBits(rounded, whole));
  for (size_t i = 0; i < whole.size(); ++i) EXPECT_NEAR(rounded[i], whole[i], 1e-5) << i;
}

TEST(Slices, OfSequencesNeedNotTheScoresOfAllWords) {
  const NetParameter net = WithOwnKernels(ParseNet(
      Layer("data", "DummyData", "", "states words",
            "dummy_data_param { shape { dim: 12 dim: 4 dim: 8 } shape { dim: 12 dim: 4 } "
            "data_filler { type: 'gaussian' } data_filler { type: 'constant' value: 7 } }") +
      Layer("words", "InnerProduct", "states", "scores",
            "inner_product_param { num_output: 200 axis: 2 weight_filler { type: 'xavier' } }") +
      Layer("loss", "SoftmaxWithLoss", "scores words", "loss", "softmax_param { axis: 2 }")));
  const std::vector<Slicing> slicings = Net<float>(net).Slicings({}, true);
  ASSERT_FALSE(slicings.empty());
  const int64_t scores = 12 * 4 * 200 * sizeof(float);
  for (const layrub::Tensor& tensor :
       Net<float>(net).MemoryGraph(1, {}, {}, false, false, slicings.back()).tensors) {
    if (tensor.is_state()) continue;
    EXPECT_LE(tensor.bytes, scores / slicings.back().parts) << tensor.name;
  }
  const std::vector<float> whole = Unplanned(net), sliced = Sliced(net, "keep", slicings.back());
  ASSERT_EQ(sliced.size(), whole.size());
  for (size_t i = 0; i < whole.size(); ++i) EXPECT_NEAR(sliced[i], whole[i], 1e-5) << i;
}

TEST(Slices, OfOneDnnKeepTheBits) {
  string text = Nets().at("convolutions");
  NetParameter net = NetOf(text, 32);
  for (LayerParameter& layer : *net.mutable_layer()) {
    if (layer.has_convolution_param()) {
      layer.mutable_convolution_param()->clear_engine();
      layer.mutable_convolution_param()->set_num_output(64);
    }
    for (BlobShape& shape : *layer.mutable_dummy_data_param()->mutable_shape()) {
      for (int i = 2; i < shape.dim_size(); ++i) shape.set_dim(i, 32);
    }
    if (layer.type() != "DummyData") layer.clear_dummy_data_param();
  }
  const std::vector<float> whole = Unplanned(net);
  const std::vector<Slicing> slicings = SlicingsOf(net);
  ASSERT_FALSE(slicings.empty());
  for (const Slicing& slicing : slicings) ExpectAsWhole(Sliced(net, "hybrid", slicing), whole);
}

TEST(Slices, LeaveBatchNormalizationWhole) {
  if (Rounds())
    GTEST_SKIP() << "workspaces of this device's libraries exceed the values of small nets";
  const string norm = Layer("norm", "BatchNorm", "conv2", "features");
  const NetParameter net =
      NetOf(Convolved("conv1", "image", "conv1",
                      "num_output: 32 kernel_size: 3 "
                      "pad: 1") +
            Convolved("conv2", "conv1", "conv2", "num_output: 2 kernel_size: 1") + norm);
  const std::vector<Slicing> slicings = SlicingsOf(net);
  ASSERT_FALSE(slicings.empty());
  const layrub::Graph graph = Net<float>(net).MemoryGraph(1, {}, {}, false, false, slicings.back());
  const auto count = [&](const string& name) {
    return std::count_if(graph.ops.begin(), graph.ops.end(), [&](const layrub::Op& op) {
      return std::regex_match(op.name, std::regex(name + "/forward"));
    });
  };
  EXPECT_EQ(count("norm"), 1);
  EXPECT_EQ(count("conv1/[0-9]+of[0-9]+"), slicings.back().parts);
  ExpectAsWhole(Sliced(net, "hybrid", slicings.back()), Unplanned(net));
}

TEST(Slices, KeepTheValuesThatUsersWant) {
  const NetParameter param = NetOf(Nets().at("convolutions"));
  const std::vector<Slicing> slicings = SlicingsOf(param);
  ASSERT_FALSE(slicings.empty());
  const auto value = [&](PlacementOptions options) {
    Net<float> net(param);
    options.strategy = "hybrid";
    CHECK(net.Place(options).ok());
    net.Forward();
    const Blob<float>& blob = *net.blob_by_name("conv1");
    return std::vector<float>(blob.cpu_data(), blob.cpu_data() + blob.count());
  };
  PlacementOptions kept, sliced;
  kept.keep = {"conv1"};
  const std::vector<float> whole = value(kept);
  kept.slicing = slicings.back();
  Caffe::set_random_seed(1701);
  EXPECT_EQ(value(kept).size(), whole.size());
  sliced.slicing = slicings.back();
  EXPECT_DEATH(value(sliced), "'conv1' cannot be read.*a part of the batch.*keep: \"conv1\"");
}

TEST(Slices, AreGivenUpWhenTheUserWatchesLayers) {
  const NetParameter net = NetOf(Nets().at("convolutions"));
  PlacementOptions options;
  options.strategy = "hybrid";
  options.slicing = SlicingsOf(net).back();
  SlicedSolver solver(SolverFor(net));
  ASSERT_TRUE(solver.net()->Place(options, solver.ParameterHistory()).ok());
  struct Watch : Net<float>::Callback {
    void run(int layer) override { seen.push_back(layer); }
    std::vector<int> seen;
  } watch;
  const auto step = [&] {
    solver.net()->ClearParamDiffs();
    solver.net()->ForwardBackward();
    solver.ApplyUpdate();
  };
  step();
  EXPECT_GT(solver.net()->planned()->slices(), 1);
  solver.net()->add_after_forward(&watch);
  for (int i = 1; i < kIterations; ++i) step();
  EXPECT_EQ(solver.net()->planned()->slices(), 1);
  EXPECT_EQ(watch.seen.size(), (kIterations - 1) * solver.net()->layers().size());
  ExpectAsWhole(TrainedState(&solver), Unplanned(net));
}

TEST(Slices, FollowTheShapeOfTheBatch) {
  NetParameter param = NetOf(Nets().at("convolutions"));
  param.mutable_layer()->DeleteSubrange(0, 1);
  *param.add_layer() = ParseNet(Layer("in", "Input", "", "image label",
                                      "input_param { shape { dim: 8 dim: 3 dim: 16 dim: 16 } shape "
                                      "{ dim: 8 } }"))
                           .layer(0);
  std::rotate(param.mutable_layer()->pointer_begin(), param.mutable_layer()->pointer_end() - 1,
              param.mutable_layer()->pointer_end());
  const auto train = [&](bool planned) {
    SlicedSolver solver(SolverFor(param));
    Net<float>& net = *solver.net();
    if (planned) {
      PlacementOptions options;
      options.strategy = "hybrid";
      options.slicing = {8, Rounds()};
      EXPECT_TRUE(net.Place(options, solver.ParameterHistory()).ok());
    }
    for (const int items : {8, 16, 5}) {
      Blob<float>& image = *net.blob_by_name("image");
      Blob<float>& label = *net.blob_by_name("label");
      image.Reshape(items, 3, 16, 16);
      label.Reshape({items});
      for (int i = 0; i < image.count(); ++i)
        image.mutable_cpu_data()[i] = static_cast<float>(i % 17) / 17 - 0.5f;
      for (int i = 0; i < items; ++i) label.mutable_cpu_data()[i] = static_cast<float>(i % 3);
      net.ClearParamDiffs();
      net.ForwardBackward();
      if (planned) {
        EXPECT_EQ(net.planned()->slices(), items % 8 == 0 ? 8 : 1);
      }
      solver.ApplyUpdate();
    }
    return TrainedState(&solver);
  };
  ExpectAsWhole(train(true), train(false));
}

}  // namespace
}  // namespace caffe
