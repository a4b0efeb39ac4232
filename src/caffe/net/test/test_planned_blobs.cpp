// Reading and writing blobs of a planned net, between passes and after the net is destroyed.
#include <algorithm>
#include <cmath>

#include "caffe/net/test/growing_source.hpp"
#include "caffe/net/test/training.hpp"
#include "caffe/test/expect_error.hpp"
#include "caffe/test/info_lines.hpp"
#include "layrub/device/device.hpp"
#include "layrub/device/pool.hpp"
#include "layrub/placement/strategies/strategy.hpp"
#include "layrub/placement/test/strategy_kinds.hpp"

namespace caffe {
namespace {

/// Values that a pass has dropped, to be recomputed in backward, cannot be read in between.
#define SKIP_WHERE_VALUES_ARE_DROPPED()                                           \
  if (layrub::testing::Recomputes(GetParam())) {                                  \
    GTEST_SKIP() << "strategy " << GetParam() << " drops what is looked at here"; \
  }

PlacementOptions Options(const string& strategy) {
  PlacementOptions options;
  options.strategy = strategy;
  return options;
}

vector<float> Values(const Blob<float>& blob) {
  return vector<float>(blob.cpu_data(), blob.cpu_data() + blob.count());
}

vector<float> Gradients(const Net<float>& net) {
  vector<float> values;
  for (const Blob<float>* param : net.learnable_params())
    values.insert(values.end(), param->cpu_diff(), param->cpu_diff() + param->count());
  return values;
}

void Fill(int count, float first, float* values) {
  for (int i = 0; i < count; ++i) values[i] = first + static_cast<float>(i % 13 - 6) / 5;
}

const char kInPlaceOnInput[] = R"(
  layer { name: "data" type: "Input" top: "data" input_param { shape { dim: 4 dim: 6 } } }
  layer { name: "relu" type: "ReLU" bottom: "data" top: "data" }
  layer { name: "ip" type: "InnerProduct" bottom: "data" top: "ip"
          inner_product_param { num_output: 5 weight_filler { type: "xavier" } } }
  layer { name: "loss" type: "TanH" bottom: "ip" top: "loss" loss_weight: 1 }
)";

/// Three blocks. The first outputs are off the device while the others run.
const char kDeep[] = R"(
  layer { name: "data" type: "Input" top: "data" input_param { shape { dim: 4 dim: 3 dim: 12 dim: 12 } } }
  layer { name: "conv1" type: "Convolution" bottom: "data" top: "conv1"
          convolution_param { num_output: 8 kernel_size: 3 pad: 1 weight_filler { type: "xavier" } } }
  layer { name: "conv2" type: "Convolution" bottom: "conv1" top: "conv2"
          convolution_param { num_output: 8 kernel_size: 3 pad: 1 weight_filler { type: "xavier" } } }
  layer { name: "conv3" type: "Convolution" bottom: "conv2" top: "conv3"
          convolution_param { num_output: 8 kernel_size: 3 pad: 1 weight_filler { type: "xavier" } } }
  layer { name: "pool" type: "Pooling" bottom: "conv3" top: "pool" pooling_param { global_pooling: true } }
  layer { name: "loss" type: "TanH" bottom: "pool" top: "loss" loss_weight: 1 }
)";

class PlannedBlobs : public ::testing::TestWithParam<string> {};

TEST_P(PlannedBlobs, UseANewInputThatALayerOverwritesInPlace) {
  Net<float> plain(ParseNet(kInPlaceOnInput)), net(ParseNet(kInPlaceOnInput));
  net.ShareTrainedLayersWith(&plain);
  ASSERT_TRUE(net.Place(Options(GetParam())).ok());
  for (int pass = 0; pass < 3; ++pass) {
    float loss[2];
    int i = 0;
    for (Net<float>* each : {&plain, &net}) {
      Blob<float>* data = each->input_blobs()[0];
      Fill(data->count(), static_cast<float>(pass), data->mutable_cpu_data());
      loss[i++] = each->ForwardBackward();
    }
    EXPECT_EQ(loss[1], loss[0]) << pass;
    EXPECT_TRUE(SameBits(Gradients(net), Gradients(plain))) << pass;
  }
}

/// After an unplanned pass, views have the memory of their bottoms.
TEST_P(PlannedBlobs, UseANewInputWhoseViewsAreOverwrittenInPlace) {
  const NetParameter param = ParseNet(R"(
    layer { name: "data" type: "Input" top: "data" input_param { shape { dim: 4 dim: 3 dim: 2 } } }
    layer { name: "flat" type: "Flatten" bottom: "data" top: "flat" }
    layer { name: "relu" type: "ReLU" bottom: "flat" top: "flat" }
    layer { name: "rows" type: "Reshape" bottom: "flat" top: "rows"
            reshape_param { shape { dim: -1 dim: 6 } } }
    layer { name: "more" type: "Power" bottom: "rows" top: "rows" power_param { shift: 1 } }
    layer { name: "ip" type: "InnerProduct" bottom: "rows" top: "ip"
            inner_product_param { num_output: 5 weight_filler { type: "xavier" } } }
    layer { name: "loss" type: "TanH" bottom: "ip" top: "loss" loss_weight: 1 }
  )");
  Net<float> plain(param), net(param);
  net.ShareTrainedLayersWith(&plain);
  net.Forward();
  ASSERT_TRUE(net.Place(Options(GetParam())).ok());
  for (int pass = 0; pass < 3; ++pass) {
    for (Net<float>* each : {&plain, &net}) {
      Blob<float>* data = each->input_blobs()[0];
      Fill(data->count(), static_cast<float>(pass), data->mutable_cpu_data());
      each->ForwardBackward();
    }
    EXPECT_TRUE(SameBits(Values(*net.output_blobs()[0]), Values(*plain.output_blobs()[0]))) << pass;
    EXPECT_TRUE(SameBits(Gradients(net), Gradients(plain))) << pass;
  }
}

TEST_P(PlannedBlobs, UseValuesWrittenBetweenForwardAndBackward) {
  SKIP_WHERE_VALUES_ARE_DROPPED();
  Net<float> plain(ParseNet(kDeep)), net(ParseNet(kDeep));
  net.ShareTrainedLayersWith(&plain);
  ASSERT_TRUE(net.Place(Options(GetParam())).ok());
  for (const char* name : {"conv1", "conv2"}) {
    for (Net<float>* each : {&plain, &net}) {
      each->ClearParamDiffs();
      Blob<float>* data = each->input_blobs()[0];
      Fill(data->count(), 0.5f, data->mutable_cpu_data());
      each->Forward();
      Blob<float>* blob = each->blob_by_name(name).get();
      Fill(blob->count(), 3, blob->mutable_cpu_data());
      each->Backward();
    }
    EXPECT_TRUE(SameBits(Gradients(net), Gradients(plain))) << name;
  }
}

/// Writes into a value whose offload is pending when the forward ends. It is still on the device,
/// and is prefetched from the host in the backward.
TEST_P(PlannedBlobs, UseValuesWrittenDuringTheirOffload) {
  const NetParameter param = ParseNet(R"(
    layer { name: "data" type: "DummyData" top: "data"
            dummy_data_param { shape { dim: 4 dim: 3 dim: 12 dim: 12 }
                               data_filler { type: "gaussian" std: 1 } } }
    layer { name: "conv1" type: "Convolution" bottom: "data" top: "conv1"
            convolution_param { num_output: 8 kernel_size: 3 pad: 1 weight_filler { type: "xavier" } } }
    layer { name: "conv2" type: "Convolution" bottom: "conv1" top: "conv2"
            convolution_param { num_output: 8 kernel_size: 3 pad: 1 weight_filler { type: "xavier" } } }
    layer { name: "conv3" type: "Convolution" bottom: "conv2" top: "conv3"
            convolution_param { num_output: 8 kernel_size: 3 pad: 1 weight_filler { type: "xavier" } } }
    layer { name: "loss" type: "Reduction" bottom: "conv3" top: "loss" loss_weight: 0.1
            reduction_param { operation: SUMSQ axis: 1 } }
    layer { name: "last" type: "Reduction" bottom: "data" top: "last" reduction_param { axis: 1 } })");
  Net<float> plain(param), net(param);
  net.ShareTrainedLayersWith(&plain);
  ASSERT_TRUE(net.Place(Options(GetParam())).ok());
  for (Net<float>* each : {&plain, &net}) {
    Caffe::set_random_seed(7);
    each->ClearParamDiffs();
    each->Forward();
    Blob<float>* const data = each->blob_by_name("data").get();
    Fill(data->count(), 0.25f, data->mutable_cpu_data());
    each->Backward();
  }
  EXPECT_TRUE(SameBits(Gradients(net), Gradients(plain)));
}

TEST_P(PlannedBlobs, AccumulateGradientsSinceTheyWereCleared) {
  Net<float> plain(ParseNet(kDeep)), net(ParseNet(kDeep));
  net.ShareTrainedLayersWith(&plain);
  ASSERT_TRUE(net.Place(Options(GetParam())).ok());
  for (Net<float>* each : {&plain, &net}) {
    for (Blob<float>* param : each->learnable_params())
      std::fill_n(param->mutable_cpu_diff(), param->count(), NAN);
    each->ClearParamDiffs();
    const vector<float> zeros = Gradients(*each);
    EXPECT_EQ(std::count(zeros.begin(), zeros.end(), 0.f), static_cast<long>(zeros.size()));
    each->ClearParamDiffs();
    Blob<float>* data = each->input_blobs()[0];
    Fill(data->count(), 0.5f, data->mutable_cpu_data());
    each->ForwardBackward();
    const vector<float> once = Gradients(*each);
    each->ForwardBackward();
    const vector<float> twice = Gradients(*each);
    ASSERT_EQ(once.size(), zeros.size());
    for (size_t i = 0; i < once.size(); ++i) ASSERT_NEAR(twice[i], 2 * once[i], 1e-4) << i;
  }
  EXPECT_TRUE(SameBits(Gradients(net), Gradients(plain)));
}

TEST_P(PlannedBlobs, UseTheDerivativeThatTheUserWritesIntoAnOutput) {
  string text = string("force_backward: true ") + kDeep;
  text.replace(text.find("loss_weight: 1"), 14, "");
  const string last = ParseNet(text).layer().rbegin()->top(0);
  const string view = "layer { name: 'view' type: 'Flatten' bottom: '" + last + "' top: 'view' }";
  for (const string& end : {string(), view}) {
    SCOPED_TRACE(end);
    Net<float> plain(ParseNet(text + end)), net(ParseNet(text + end));
    net.ShareTrainedLayersWith(&plain);
    ASSERT_TRUE(net.Place(Options(GetParam())).ok());
    for (int pass = 0; pass < 2; ++pass) {
      for (Net<float>* each : {&plain, &net}) {
        Blob<float>* data = each->input_blobs()[0];
        Fill(data->count(), 0.5f, data->mutable_cpu_data());
        each->Forward();
        Blob<float>* out = each->output_blobs()[0];
        Fill(out->count(), static_cast<float>(pass + 1), out->mutable_cpu_diff());
        each->Backward();
      }
      EXPECT_GT(plain.params()[0]->asum_diff(), 0);
      EXPECT_TRUE(SameBits(Gradients(net), Gradients(plain))) << pass;
    }
  }
}

TEST_P(PlannedBlobs, SayThatATestPlanHasNoBackward) {
  NetParameter param = ParseNet(string("force_backward: true ") + kDeep);
  param.mutable_state()->set_phase(TEST);
  Net<float> net(param);
  ASSERT_TRUE(net.Place(Options(GetParam())).ok());
  net.Forward();
  EXPECT_ERROR(net.Backward(),
               "plan of a net in the TEST phase has no backward. Run the forward in parts");
}

TEST_P(PlannedBlobs, FreeTheMemoryOfUnplannedPasses) {
  Net<float> net(ParseNet(kDeep));
  Fill(net.input_blobs()[0]->count(), 1, net.input_blobs()[0]->mutable_cpu_data());
  layrub::Pool& pool = Caffe::mode() == Caffe::GPU ? Caffe::device().pool() : layrub::Pool::Cpu();
  ASSERT_TRUE(net.Place(Options(GetParam())).ok());
  net.ForwardBackward();
  const int64_t planned = pool.used();
  net.ForwardFromTo(0, static_cast<int>(net.layers().size()) - 1);
  net.Backward();
  EXPECT_GT(pool.used(), planned);
  net.ForwardBackward();
  EXPECT_EQ(pool.used(), planned);
}

TEST_P(PlannedBlobs, AreCopiedOutInTheirCurrentSize) {
  SKIP_WHERE_VALUES_ARE_DROPPED();
  Net<float> net(ParseNet(kInPlaceOnInput));
  Blob<float>* data = net.input_blobs()[0];
  data->Reshape({1 << 23, 6});
  data->Reshape({4, 6});
  ASSERT_TRUE(net.Place(Options(GetParam())).ok());
  Fill(data->count(), 1, data->mutable_cpu_data());
  net.Forward();
  const vector<float> seen = Values(*data);
  net.ForwardFromTo(2, 2);
  EXPECT_TRUE(SameBits(Values(*data), seen));
}

TEST_P(PlannedBlobs, KeepSharedValuesAfterTheNetIsDestroyed) {
  Blob<float> mine(4, 8, 1, 1);
  vector<float> expected;
  {
    Net<float> net(ParseNet(kDeep));
    ASSERT_TRUE(net.Place(Options(GetParam())).ok());
    Fill(net.input_blobs()[0]->count(), 1, net.input_blobs()[0]->mutable_cpu_data());
    net.Forward();
    expected = Values(*net.output_blobs()[0]);
    mine.ShareData(*net.output_blobs()[0]);
  }
  EXPECT_TRUE(SameBits(Values(mine), expected));
}

TEST_P(PlannedBlobs, KeepParametersHeldByOthersAfterTheNetIsDestroyed) {
  shared_ptr<Blob<float>> parameter;
  shared_ptr<Layer<float>> layer;
  vector<float> expected, of_layer;
  {
    Net<float> net(ParseNet(kDeep));
    ASSERT_TRUE(net.Place(Options(GetParam())).ok());
    parameter = net.params().front();
    layer = net.layer_by_name("conv3");
    expected = Values(*parameter);
    of_layer = Values(*layer->blobs()[0]);
  }
  EXPECT_TRUE(SameBits(Values(*parameter), expected));
  EXPECT_TRUE(SameBits(Values(*layer->blobs()[0]), of_layer));
}

TEST_P(PlannedBlobs, AreNotCopiedWhenTheNetIsDestroyedUnlessHeld) {
  int64_t used = 0;
  {
    Net<float> net(ParseNet(kDeep));
    ASSERT_TRUE(net.Place(Options(GetParam())).ok());
    net.Forward();
    layrub::Pool::Cpu().ResetPeak();
    used = layrub::Pool::Cpu().used();
  }
  EXPECT_EQ(layrub::Pool::Cpu().peak(), used);
}

TEST_P(PlannedBlobs, SayThatABackwardNeedsAForwardBeforeIt) {
  Net<float> net(ParseNet(kDeep));
  ASSERT_TRUE(net.Place(Options(GetParam())).ok());
  EXPECT_ERROR(net.Backward(), "needs a Forward\\(\\) just before it");
  net.ForwardBackward();
  EXPECT_ERROR(net.Backward(), "needs a Forward\\(\\) just before it");
}

TEST_P(PlannedBlobs, StaySharedByTwoPlannedNetsAfterOneIsDestroyed) {
  NetParameter test_param = ParseNet(kDeep);
  test_param.mutable_state()->set_phase(TEST);
  Net<float> test(test_param);
  const auto run = [](Net<float>* net) {
    Blob<float>* data = net->input_blobs()[0];
    Fill(data->count(), 1, data->mutable_cpu_data());
    float loss;
    net->Forward(&loss);
    return loss;
  };
  float expected = 0;
  {
    Net<float> train(ParseNet(kDeep));
    ASSERT_TRUE(train.Place(Options(GetParam())).ok());
    test.ShareTrainedLayersWith(&train);
    ASSERT_TRUE(test.Place(Options(GetParam())).ok());
    expected = run(&train);
    EXPECT_EQ(run(&test), expected);
    train.Backward();
    train.Update();
    const float updated = run(&train);
    EXPECT_NE(updated, expected);
    EXPECT_EQ(run(&test), updated);
    train.input_blobs()[0]->Reshape({5, 3, 12, 12});  // a new plan
    run(&train);
    EXPECT_EQ(run(&test), updated);
    expected = updated;
  }
  EXPECT_EQ(run(&test), expected);
}

TEST_P(PlannedBlobs, ShowTheUsersMemoryThroughViewsAndInPlaceLayers) {
  const string text = string(kInPlaceOnInput) + R"(
    layer { name: "more" type: "TanH" bottom: "data" top: "more" loss_weight: 0.5 }
  )";
  vector<float> mine(24);
  Net<float> net(ParseNet(text));
  net.input_blobs()[0]->set_cpu_data(mine.data());
  ASSERT_TRUE(net.Place(Options(GetParam())).ok());
  for (int pass = 0; pass < 2; ++pass) {
    Fill(24, 0, mine.data());
    net.ForwardBackward();
    EXPECT_EQ(Values(*net.blob_by_name("data"))[0], 0);  // rectified
    EXPECT_TRUE(SameBits(Values(*net.blob_by_name("data_relu_0_split_1")), mine));
  }
}

TEST_P(PlannedBlobs, WeightLossesOfSplitTops) {
  string text = string(kDeep) + R"(
    layer { name: "split" type: "Split" bottom: "conv1" top: "s1" top: "s2" loss_weight: 0.25 loss_weight: 0 }
    layer { name: "more" type: "TanH" bottom: "s2" top: "more" loss_weight: 0.5 }
  )";
  Net<float> plain(ParseNet(text)), net(ParseNet(text));
  net.ShareTrainedLayersWith(&plain);
  ASSERT_TRUE(net.Place(Options(GetParam())).ok());
  for (int pass = 0; pass < 2; ++pass) {
    float loss[2];
    int i = 0;
    for (Net<float>* each : {&plain, &net}) {
      each->ClearParamDiffs();
      Blob<float>* data = each->input_blobs()[0];
      Fill(data->count(), 0.5f, data->mutable_cpu_data());
      loss[i++] = each->ForwardBackward();
    }
    EXPECT_EQ(loss[0], loss[1]);
    EXPECT_TRUE(SameBits(Gradients(net), Gradients(plain)));
  }
}

INSTANTIATE_TEST_SUITE_P(EveryStrategy, PlannedBlobs, ::testing::ValuesIn(layrub::StrategyNames()),
                         [](const auto& test) { return test.param; });

TEST(PlannedBlobsErrors, ReadingADroppedValueNeverGivesZeros) {
  Net<float> net(ParseNet(kDeep));
  ASSERT_TRUE(net.Place(Options("hybrid")).ok());
  net.ForwardBackward();
  net.ForwardFromTo(0, 0);
  EXPECT_EQ(net.planned(), nullptr);
  EXPECT_ERROR(net.ForwardFrom(4), "value of 'conv3' is gone");
  EXPECT_ERROR(net.blob_by_name("conv3")->cpu_data(), "value of 'conv3' is gone");
  Blob<float>* data = net.input_blobs()[0];
  Fill(data->count(), 1, data->mutable_cpu_data());
  net.ForwardFromTo(0, 3);
  EXPECT_GT(net.blob_by_name("conv3")->asum_data(), 0);
}

/// For any budget, also if recomputing them costs less than copying them.
TEST(KeptBlobs, CanBeReadBetweenPasses) {
  for (const char* name : {"conv1", "conv2", "conv3", "pool"}) {
    NetParameter param = ParseNet(kDeep);  // with a last block that needs most of the memory
    param.mutable_layer(3)->mutable_convolution_param()->set_num_output(64);
    Net<float> plain(param), net(param);
    net.ShareTrainedLayersWith(&plain);
    PlacementOptions options = Options("auto");
    options.keep = {name};
    options.machine.link_down = options.machine.link_up = options.machine.link_both = 1e3;
    const int64_t floor = layrub::FloorBytes(net.MemoryGraph(-1, options.keep));
    for (const int64_t twentieths : {20, 21, 22, 24, 28}) {
      options.budget.device = floor * twentieths / 20;
      if (!net.Place(options).ok()) continue;
      for (Net<float>* each : {&plain, &net}) {
        Blob<float>* data = each->input_blobs()[0];
        Fill(data->count(), static_cast<float>(twentieths), data->mutable_cpu_data());
        each->Forward();
      }
      EXPECT_TRUE(SameBits(Values(*net.blob_by_name(name)), Values(*plain.blob_by_name(name))))
          << name << " in " << options.budget.device << " bytes";
    }
    EXPECT_NE(net.planned(), nullptr);
  }
}

class LateSource : public ::testing::TestWithParam<string> {};

TEST_P(LateSource, MayChangeItsShapeInAPlannedPass) {
  SKIP_WHERE_VALUES_ARE_DROPPED();
  const NetParameter param = ParseNet(R"(
    layer { name: "data" type: "Input" top: "data" input_param { shape { dim: 2 dim: 2 dim: 6 dim: 6 } } }
    layer { name: "conv" type: "Convolution" bottom: "data" top: "conv"
            convolution_param { num_output: 3 kernel_size: 3 weight_filler { type: "xavier" } } }
    layer { name: "relu" type: "ReLU" bottom: "conv" top: "conv" }
    layer { name: "pool" type: "Pooling" bottom: "conv" top: "pool"
            pooling_param { kernel_size: 2 stride: 2 } }
    layer { name: "tanh" type: "TanH" bottom: "pool" top: "pool" }
    layer { name: "ip1" type: "InnerProduct" bottom: "pool" top: "ip1"
            inner_product_param { num_output: 3 weight_filler { type: "xavier" } } }
    layer { name: "loss1" type: "TanH" bottom: "ip1" top: "loss1" loss_weight: 1 }
    layer { name: "late" type: "TestGrowing" top: "late" }
    layer { name: "ip2" type: "InnerProduct" bottom: "late" top: "ip2"
            inner_product_param { num_output: 2 weight_filler { type: "xavier" } } }
    layer { name: "loss2" type: "TanH" bottom: "ip2" top: "loss2" loss_weight: 1 }
  )");
  Net<float> plain(param), net(param);
  net.ShareTrainedLayersWith(&plain);
  ASSERT_TRUE(net.Place(Options(GetParam())).ok());
  for (int pass = 0; pass < 4; ++pass) {
    float loss[2];
    int i = 0;
    for (Net<float>* each : {&plain, &net}) {
      each->ClearParamDiffs();
      Blob<float>* data = each->input_blobs()[0];
      Fill(data->count(), static_cast<float>(pass), data->mutable_cpu_data());
      loss[i++] = each->ForwardBackward();
    }
    EXPECT_EQ(loss[1], loss[0]) << pass;
    EXPECT_TRUE(SameBits(Gradients(net), Gradients(plain))) << pass;
  }
}

INSTANTIATE_TEST_SUITE_P(EveryStrategy, LateSource, ::testing::ValuesIn(layrub::StrategyNames()),
                         [](const auto& test) { return test.param; });

/// The lines that debug_info writes.
class DebugLines : public google::LogSink {
 public:
  DebugLines() { google::AddLogSink(this); }
  ~DebugLines() override { google::RemoveLogSink(this); }
  void send(google::LogSeverity, const char*, const char*, int, const struct ::tm*,
            const char* message, size_t size) override {
    const string line(message, size);
    if (line.compare(0, 5, "    [") == 0) lines.push_back(line);
  }
  vector<string> lines;

 private:
  const InfoLines info_;
};

TEST_P(LateSource, DebugInfoIsTheSameWithAndWithoutAPlan) {
  for (const string& name : SmallNets()) {
    vector<string> expected;
    for (const string& strategy : {string(), GetParam()}) {
      NetParameter param = ReadNet(name);
      param.set_debug_info(true);
      Caffe::set_random_seed(3);
      Net<float> net(param);
      if (!strategy.empty()) {
        ASSERT_TRUE(net.Place(Options(strategy)).ok());
      }
      Caffe::set_random_seed(4);
      DebugLines debug;
      net.ForwardBackward();
      net.ForwardBackward();
      if (strategy.empty()) expected = debug.lines;
      EXPECT_FALSE(debug.lines.empty());
      EXPECT_EQ(debug.lines, expected) << name;
    }
  }
}

}  // namespace
}  // namespace caffe
