// How users see a net under a plan: blobs, callbacks, partial passes, other nets' memory, new
// shapes.
#include "caffe/net/test/growing_source.hpp"
#include "caffe/net/test/training.hpp"
#include "caffe/test/expect_error.hpp"

namespace caffe {
namespace {

PlacementOptions Options(const string& strategy) {
  PlacementOptions options;
  options.strategy = strategy;
  return options;
}

const char kInputNet[] = R"(
  name: "inputs" force_backward: true
  layer { name: "data" type: "Input" top: "data" input_param { shape { dim: 2 dim: 3 dim: 6 dim: 6 } } }
  layer { name: "conv" type: "Convolution" bottom: "data" top: "conv"
          convolution_param { num_output: 4 kernel_size: 3 weight_filler { type: "xavier" } } }
  layer { name: "relu" type: "ReLU" bottom: "conv" top: "conv" }
  layer { name: "pool" type: "Pooling" bottom: "conv" top: "pool" pooling_param { global_pooling: true } }
  layer { name: "ip" type: "InnerProduct" bottom: "pool" top: "ip"
          inner_product_param { num_output: 5 weight_filler { type: "xavier" } } }
  layer { name: "norm" type: "TanH" bottom: "ip" top: "out" loss_weight: 1 }
)";

void FillInput(Net<float>* net) {
  Blob<float>* data = net->input_blobs()[0];
  for (int i = 0; i < data->count(); ++i)
    data->mutable_cpu_data()[i] = static_cast<float>(i % 17) / 7;
}

vector<float> Values(const Blob<float>& blob) {
  return vector<float>(blob.cpu_data(), blob.cpu_data() + blob.count());
}

class PlannedNetTest : public ::testing::TestWithParam<string> {
 protected:
  void SetUp() override { Caffe::set_random_seed(1701); }
};

TEST_P(PlannedNetTest, ShowsOutputsAndParametersAfterAPass) {
  Net<float> plain(ParseNet(kInputNet)), planned(ParseNet(kInputNet));
  planned.ShareTrainedLayersWith(&plain);
  FillInput(&plain);
  const float expected = plain.ForwardBackward();
  ASSERT_TRUE(planned.Place(Options(GetParam())).ok());
  FillInput(&planned);
  EXPECT_EQ(planned.ForwardBackward(), expected);
  EXPECT_TRUE(SameBits(Values(*planned.blob_by_name("out")), Values(*plain.blob_by_name("out"))));
  for (size_t i = 0; i < plain.params().size(); ++i) {
    const Blob<float>&a = *plain.params()[i], &b = *planned.params()[i];
    EXPECT_EQ(0, std::memcmp(a.cpu_diff(), b.cpu_diff(), a.count() * sizeof(float)));
  }
}

TEST_P(PlannedNetTest, KeepsTheInputsThatTheUserWroteFromPassToPass) {
  Net<float> net(ParseNet(kInputNet));
  FillInput(&net);
  ASSERT_TRUE(net.Place(Options(GetParam())).ok());
  const float first = net.ForwardBackward();
  EXPECT_EQ(net.ForwardBackward(), first);
  Blob<float>* data = net.input_blobs()[0];
  for (int i = 0; i < data->count(); ++i) data->mutable_cpu_data()[i] *= 1.5f;
  EXPECT_NE(net.ForwardBackward(), first);
}

TEST_P(PlannedNetTest, RunsPartialPassesUnplannedAndReturnsToThePlan) {
  Net<float> net(ParseNet(kInputNet));
  FillInput(&net);
  ASSERT_TRUE(net.Place(Options(GetParam())).ok());
  const float whole = net.ForwardBackward();
  const vector<float> out = Values(*net.blob_by_name("out"));
  net.ForwardFromTo(0, 2);
  EXPECT_EQ(net.planned(), nullptr);
  EXPECT_EQ(net.ForwardFrom(3), whole);
  net.BackwardFrom(static_cast<int>(net.layers().size()) - 1);
  EXPECT_GT(net.blob_by_name("data")->asum_diff(), 0);
  EXPECT_EQ(net.ForwardBackward(), whole);
  EXPECT_NE(net.planned(), nullptr);
  EXPECT_TRUE(SameBits(Values(*net.blob_by_name("out")), out));
}

TEST_P(PlannedNetTest, PlansAgainWhenTheUserReshapesAnInput) {
  Net<float> net(ParseNet(kInputNet)), plain(ParseNet(kInputNet));
  net.ShareTrainedLayersWith(&plain);
  ASSERT_TRUE(net.Place(Options(GetParam())).ok());
  FillInput(&net);
  net.ForwardBackward();
  for (Net<float>* each : {&net, &plain}) {
    each->input_blobs()[0]->Reshape({3, 3, 9, 9});
    FillInput(each);
    each->Forward();
  }
  EXPECT_EQ(net.blob_by_name("conv")->shape(1), 4);
  EXPECT_EQ(net.output_blobs()[0]->shape(0), 3);
  EXPECT_TRUE(SameBits(Values(*net.output_blobs()[0]), Values(*plain.output_blobs()[0])));
}

TEST_P(PlannedNetTest, IsPlannedForTheCurrentShapesOfItsInputs) {
  Net<float> net(ParseNet(kInputNet)), plain(ParseNet(kInputNet));
  net.ShareTrainedLayersWith(&plain);
  for (Net<float>* each : {&net, &plain}) each->input_blobs()[0]->Reshape({3, 3, 9, 9});
  ASSERT_TRUE(net.Place(Options(GetParam())).ok());
  for (Net<float>* each : {&net, &plain}) {
    FillInput(each);
    each->ForwardBackward();
  }
  EXPECT_TRUE(SameBits(Values(*net.output_blobs()[0]), Values(*plain.output_blobs()[0])));
  EXPECT_EQ(net.params()[0]->asum_diff(), plain.params()[0]->asum_diff());
}

TEST_P(PlannedNetTest, RunsAPartialBackwardIfABranchHasNoBackward) {
  NetParameter param = ParseNet(string(kInputNet) + R"(
    layer { name: "aside" type: "Power" bottom: "ip" top: "aside" propagate_down: false }
  )");
  param.clear_force_backward();
  Net<float> net(param);
  FillInput(&net);
  const int last = static_cast<int>(net.layers().size()) - 1, norm = last - 1;
  ASSERT_EQ(net.layer_names()[norm], "norm");
  vector<float> gradients[2];
  for (vector<float>& found : gradients) {
    net.ClearParamDiffs();
    net.ForwardFromTo(0, last);
    net.BackwardFromTo(last, norm);
    net.BackwardFrom(norm - 1);  // the split of ip
    const Blob<float>& conv = *net.params()[0];
    found.assign(conv.cpu_diff(), conv.cpu_diff() + conv.count());
    ASSERT_TRUE(net.Place(Options(GetParam())).ok());
    net.ForwardBackward();
  }
  EXPECT_NE(gradients[0], vector<float>(gradients[0].size()));
  EXPECT_TRUE(SameBits(gradients[1], gradients[0]));
}

TEST_P(PlannedNetTest, LeavesMemoryOfTheUserInPlace) {
  vector<float> mine(2 * 3 * 6 * 6, 0.5f);
  Net<float> net(ParseNet(kInputNet));
  net.input_blobs()[0]->set_cpu_data(mine.data());
  ASSERT_TRUE(net.Place(Options(GetParam())).ok());
  const float half = net.ForwardBackward();
  ASSERT_EQ(net.input_blobs()[0]->mutable_cpu_data(), mine.data());
  for (float& value : mine) value = 0.75f;
  EXPECT_NE(net.ForwardBackward(), half);
}

TEST_P(PlannedNetTest, SharesParametersWithOtherNetsThatOutliveIt) {
  Net<float> other(ParseNet(kInputNet));
  FillInput(&other);
  float expected = 0;
  {
    Net<float> net(ParseNet(kInputNet));
    other.ShareTrainedLayersWith(&net);
    ASSERT_TRUE(net.Place(Options(GetParam())).ok());
    FillInput(&net);
    expected = net.ForwardBackward();
    EXPECT_EQ(other.ForwardBackward(), expected);
    EXPECT_EQ(other.params()[0]->cpu_data(), net.params()[0]->cpu_data());
  }
  EXPECT_EQ(other.ForwardBackward(), expected);
}

TEST_P(PlannedNetTest, StaysAsItWasWhenANewPlanDoesNotFit) {
  Net<float> net(ParseNet(kInputNet));
  FillInput(&net);
  ASSERT_TRUE(net.Place(Options(GetParam())).ok());
  const float loss = net.ForwardBackward();
  const PlannedNet<float>* plan = net.planned();
  PlacementOptions impossible = Options(GetParam());
  impossible.budget.device = 1;
  EXPECT_EQ(net.Place(impossible).code, layrub::Code::kDoesNotFit);
  EXPECT_EQ(net.planned(), plan);
  EXPECT_EQ(net.ForwardBackward(), loss);
}

struct Counter : Net<float>::Callback {
  explicit Counter(vector<int>* log) : log_(log) {}
  void run(int layer) override { log_->push_back(layer); }
  vector<int>* log_;
};

TEST_P(PlannedNetTest, CallsBackForTheSameLayersAsWithoutAPlan) {
  vector<int> plain_log, planned_log;
  for (vector<int>* log : {&plain_log, &planned_log}) {
    Counter counter(log);
    Net<float> net(ReadNet("mini_googlenet"));
    if (log == &planned_log) {
      ASSERT_TRUE(net.Place(Options(GetParam())).ok());
    }
    net.add_before_forward(&counter);
    net.add_after_forward(&counter);
    net.add_before_backward(&counter);
    net.add_after_backward(&counter);
    net.ForwardBackward();
  }
  EXPECT_EQ(plain_log, planned_log);
  EXPECT_FALSE(plain_log.empty());
}

INSTANTIATE_TEST_SUITE_P(EveryStrategy, PlannedNetTest,
                         ::testing::ValuesIn(layrub::StrategyNames()),
                         [](const auto& test) { return test.param; });

TEST(PlannedNet, SaysHowToKeepADroppedBlob) {
  Net<float> net(ReadNet("lenet"));
  ASSERT_TRUE(net.Place(Options("hybrid")).ok());
  net.ForwardBackward();
  EXPECT_ERROR(net.blob_by_name("conv2")->cpu_data(), "placement \\{ keep: \"conv2\" \\}");
}

TEST(PlannedNet, KeepsTheBlobsThatTheUserNames) {
  Net<float> plain(ParseNet(kInputNet)), net(ParseNet(kInputNet));
  net.ShareTrainedLayersWith(&plain);
  PlacementOptions options = Options("hybrid");
  options.keep = {"conv"};
  ASSERT_TRUE(net.Place(options).ok());
  for (Net<float>* each : {&net, &plain}) {
    FillInput(each);
    each->ForwardBackward();
  }
  EXPECT_TRUE(SameBits(Values(*net.blob_by_name("conv")), Values(*plain.blob_by_name("conv"))));
}

/// The rectified values are an output, too, and are overwritten with their signs.
TEST_P(PlannedNetTest, ShowsOutputsBetweenForwardAndBackward) {
  const NetParameter param = ParseNet(R"(
    layer { name: "data" type: "Input" top: "data" input_param { shape { dim: 4 dim: 3 dim: 8 dim: 8 } } }
    layer { name: "conv1" type: "Convolution" bottom: "data" top: "conv1"
            convolution_param { num_output: 4 kernel_size: 1 weight_filler { type: "xavier" } } }
    layer { name: "conv2" type: "Convolution" bottom: "conv1" top: "conv2"
            convolution_param { num_output: 4 kernel_size: 3 weight_filler { type: "xavier" } } }
    layer { name: "scale1" type: "Scale" bottom: "conv2" top: "scale1" }
    layer { name: "scale2" type: "Scale" bottom: "scale1" top: "scale2" }
    layer { name: "relu" type: "ReLU" bottom: "scale2" top: "relu" }
    layer { name: "view" type: "Flatten" bottom: "relu" top: "view" }
    layer { name: "pool" type: "Pooling" bottom: "relu" top: "pool"
            pooling_param { pool: AVE global_pooling: true } }
    layer { name: "ip" type: "InnerProduct" bottom: "pool" top: "ip"
            inner_product_param { num_output: 5 weight_filler { type: "xavier" } } }
    layer { name: "loss" type: "TanH" bottom: "ip" top: "loss" loss_weight: 1 }
  )");
  Net<float> plain(param), net(param);
  net.ShareTrainedLayersWith(&plain);
  ASSERT_TRUE(net.Place(Options(GetParam())).ok());
  for (Net<float>* each : {&plain, &net}) {
    FillInput(each);
    each->Forward();
  }
  for (int i = 0; i < net.num_outputs(); ++i)
    EXPECT_TRUE(SameBits(Values(*net.output_blobs()[i]), Values(*plain.output_blobs()[i]))) << i;
}

TEST(PlannedNet, ReadsEveryBlobUnderKeep) {
  Net<float> plain(ParseNet(kInputNet)), net(ParseNet(kInputNet));
  net.ShareTrainedLayersWith(&plain);
  ASSERT_TRUE(net.Place(Options("keep")).ok());
  for (Net<float>* each : {&net, &plain}) {
    FillInput(each);
    each->ForwardBackward();
  }
  for (const string& name : net.blob_names()) {
    const Blob<float>&a = *net.blob_by_name(name), &b = *plain.blob_by_name(name);
    EXPECT_TRUE(SameBits(Values(a), Values(b))) << name;
    EXPECT_EQ(0, std::memcmp(a.cpu_diff(), b.cpu_diff(), a.count() * sizeof(float))) << name;
  }
}

TEST(PlannedNet, RefusesToKeepABlobThatTheNetLacks) {
  Net<float> net(ReadNet("lenet"));
  PlacementOptions options = Options("hybrid");
  options.keep = {"fc9"};
  const layrub::Status status = net.Place(options);
  EXPECT_EQ(status.code, layrub::Code::kInvalid);
  EXPECT_NE(status.message.find("fc9"), string::npos);
}

/// Doubles blob b when it has a value.
class Doubler : public Net<float>::Callback {
 public:
  explicit Doubler(Net<float>* net) : net_(net) { net->add_after_forward(this); }

 protected:
  void run(int layer) override {
    if (net_->layer_names()[layer] == "b") net_->blob_by_name("b")->scale_data(2);
  }

 private:
  Net<float>* const net_;
};

TEST(PlannedNet, RefusesAChangeThatRecomputationWouldUndo) {
  string text = R"(
    layer { name: "data" type: "Input" top: "data" input_param { shape { dim: 8 dim: 50 } } }
    layer { name: "ip" type: "InnerProduct" bottom: "data" top: "ip"
            inner_product_param { num_output: 40 weight_filler { type: "xavier" } } }
  )";
  string bottom = "ip";
  for (const string top : {"s", "a", "b", "c", "d", "e", "f"}) {
    text += "layer { name: '" + top + "' type: 'Sigmoid' bottom: '" + bottom + "' top: '" + top +
            "' }\n";
    bottom = top;
  }
  text += "layer { name: 'loss' type: 'Reduction' bottom: 'f' top: 'loss' loss_weight: 1 }";
  Net<float> plain(ParseNet(text)), liveness(ParseNet(text)), sqrt(ParseNet(text));
  liveness.ShareTrainedLayersWith(&plain);
  ASSERT_TRUE(liveness.Place(Options("liveness")).ok());
  ASSERT_TRUE(sqrt.Place(Options("sqrt")).ok());
  Doubler first(&plain), second(&liveness), third(&sqrt);
  for (Net<float>* each : {&plain, &liveness, &sqrt}) FillInput(each);
  plain.ForwardBackward();
  liveness.ForwardBackward();
  EXPECT_EQ(liveness.params()[0]->asum_diff(), plain.params()[0]->asum_diff());
  EXPECT_ERROR(sqrt.ForwardBackward(),
               "The value of 'b' cannot be changed here: strategy sqrt computes it again");
}

/// Accesses more than it declares.
class SneakyLayer : public Layer<float> {
 public:
  using Layer<float>::Layer;
  const char* type() const override { return "TestSneaky"; }
  void Reshape(const vector<Blob<float>*>& bottom, const vector<Blob<float>*>& top) override {
    top[0]->ReshapeLike(*bottom[0]);
  }
  MemoryTraits Traits(const vector<Blob<float>*>&, const vector<Blob<float>*>&,
                      const vector<bool>&) const override {
    MemoryTraits traits;
    traits.declared = true;
    traits.forward = {"only", {BottomData(0)}, {TopData(0)}, {}, 0, 0};
    traits.backward.push_back({"only", {TopDiff(0)}, {BottomDiff(0)}, {}, 0, 0});
    return traits;
  }

 protected:
  void Forward_cpu(const vector<Blob<float>*>& bottom, const vector<Blob<float>*>& top) override {
    top[0]->mutable_cpu_data()[0] = bottom[0]->cpu_data()[0];
  }
  void Backward_cpu(const vector<Blob<float>*>& top, const vector<bool>&,
                    const vector<Blob<float>*>& bottom) override {
    bottom[0]->mutable_cpu_diff()[0] = top[0]->cpu_diff()[0] * bottom[0]->cpu_data()[0];
  }
};
LayerRegisterer<float> register_sneaky("TestSneaky", [](const LayerParameter& param) {
  return shared_ptr<Layer<float>>(new SneakyLayer(param));
});

TEST(PlannedNet, CatchesALayerThatReadsWhatItDoesNotDeclare) {
  string text = kInputNet;
  text.replace(text.find("type: \"TanH\""), 12, "type: \"TestSneaky\"");
  Net<float> net(ParseNet(text));
  ASSERT_TRUE(net.Place(Options("keep")).ok());
  FillInput(&net);
  net.Forward();
  EXPECT_ERROR(net.Backward(),
               "norm/backward .* reads 'ip', which the layer's memory traits do not declare");
}

TEST(PlannedNet, FollowsASourceThatChangesItsShapeInsideAPass) {
  const NetParameter param = ParseNet(R"(
    layer { name: "data" type: "TestGrowing" top: "data" }
    layer { name: "ip" type: "InnerProduct" bottom: "data" top: "ip"
            inner_product_param { num_output: 2 weight_filler { type: "xavier" } } }
    layer { name: "loss" type: "TanH" bottom: "ip" top: "loss" loss_weight: 1 }
  )");
  Net<float> plain(param), net(param);
  net.ShareTrainedLayersWith(&plain);
  ASSERT_TRUE(net.Place(Options("hybrid")).ok());
  for (int pass = 0; pass < 4; ++pass) {
    EXPECT_EQ(net.ForwardBackward(), plain.ForwardBackward()) << pass;
    EXPECT_EQ(net.output_blobs()[0]->shape(0), pass == 0 ? 2 : 4);
    EXPECT_EQ(0, std::memcmp(net.params()[0]->cpu_diff(), plain.params()[0]->cpu_diff(),
                             6 * sizeof(float)));
  }
  EXPECT_NE(net.planned(), nullptr);
}

}  // namespace
}  // namespace caffe
