// Values have their channels in blocks if convolutions prefer that and all other layers accept it.
// Users see a difference in time only.
#include <memory>
#include <string>
#include <vector>

#include "caffe/net/test/nets_in_blocks.hpp"
#include "caffe/net/test/tight_training.hpp"

namespace caffe {

namespace {

string Strided(const string& top, const string& bottom, int kernel) {
  return R"(layer { name: ")" + top + R"(" type: "Convolution" bottom: ")" + bottom +
         R"(" top: ")" + top + R"(" convolution_param { num_output: 64 stride: 2 kernel_size: )" +
         std::to_string(kernel) + " pad: " + std::to_string(kernel / 2) +
         R"( weight_filler { type: "msra" } } })";
}

struct Middle {
  string name, layers;
  bool in_blocks;  ///< whether values between the convolutions are in blocks
};
void PrintTo(const Middle& middle, std::ostream* out) { *out << middle.name; }

string Sum(const string& a, const string& b, const string& to) {
  return R"(layer { name: "sum" type: "Eltwise" bottom: ")" + a + R"(" bottom: ")" + b +
         R"(" top: ")" + to + R"(" })";
}

std::vector<Middle> Middles() {
  const string relu = Layer1("ReLU", "a", "a");
  const string pool = Layer1("Pooling", "a", "c", "pooling_param { kernel_size: 3 stride: 2 }");
  const string join = R"(layer { name: "join" type: "Concat" bottom: "a" bottom: "b" top: "ab" })"
                      R"(layer { name: "part" type: "Slice" bottom: "ab" top: "c" top: "rest"
                 slice_param { slice_point: 48 } })";
  return {
      {"relu", relu + Layer1("ReLU", "a", "c"), true},
      {"elu", relu + Layer1("ELU", "a", "c"), true},
      {"sigmoid", relu + Layer1("Sigmoid", "a", "c"), true},
      {"max_pooling", relu + pool, true},
      {"padded_max_pooling",
       Layer1("Pooling", "a", "c", "pooling_param { kernel_size: 3 stride: 1 pad: 1 }"), true},
      {"average_pooling",
       Layer1("Pooling", "a", "c", "pooling_param { pool: AVE kernel_size: 2 stride: 2 }"), true},
      {"batch_norm", Layer1("BatchNorm", "a", "c"), true},
      {"batch_norm_in_place", Layer1("BatchNorm", "a", "a") + relu + Layer1("ReLU", "a", "c"),
       true},
      {"residual",
       Layer1("BatchNorm", "a", "b") + Layer1("ReLU", "b", "b") + Convolution("b2", "b") +
           Sum("a", "b2", "c") + Layer1("ReLU", "c", "c"),
       true},
      {"concat_and_slice",
       Convolution("b", "x", 80) + join +
           R"(layer { name: "quiet" type: "Silence" bottom: "rest" })",
       false},
      {"concat",
       Convolution("b", "x") +
           R"(layer { name: "join" type: "Concat" bottom: "a" bottom: "b" top: "c" })",
       true},
      {"slice",
       Convolution("b", "a", 128) +
           R"(layer { name: "part" type: "Slice" bottom: "b" top: "b1" top: "b2" })" +
           Sum("b1", "b2", "c"),
       true},
      {"strided_pointwise_convolution_beside_another",
       Strided("b", "a", 3) + Strided("side", "a", 1) + Sum("b", "side", "c"), true},
      {"strided_pointwise_convolutions_alone", Strided("b", "a", 1) + Strided("c", "b", 1), false},
      {"lrn", Layer1("LRN", "a", "c"), false},
      {"dropout", Layer1("Dropout", "a", "c"), false},
      {"prelu", Layer1("PReLU", "a", "c"), false},
      {"pointwise_convolution",
       R"(layer { name: "c" type: "Convolution" bottom: "a" top: "c"
                  convolution_param { num_output: 64 kernel_size: 1 weight_filler { type: "msra" } } })",
       false},
  };
}

std::vector<float> DataOf(const Blob<float>& blob) {
  return {blob.cpu_data(), blob.cpu_data() + blob.count()};
}
std::vector<float> DiffOf(const Blob<float>& blob) {
  return {blob.cpu_diff(), blob.cpu_diff() + blob.count()};
}

class ChannelsInBlocks : public ::testing::TestWithParam<Middle> {
 protected:
  void SetUp() override {
    if (!HasBlocks()) GTEST_SKIP() << "no convolution by oneDNN wants blocks of channels here";
  }
};

TEST_P(ChannelsInBlocks, AreUsedIfAllLayersAcceptThem) {
  Net<float> net(ParseNet(Between(GetParam().layers)));
  ASSERT_TRUE(net.Place({}).ok());
  // The layer that reads the top of the last convolution accepts no blocks.
  EXPECT_EQ(net.planned()->values_in_blocks() > 0, GetParam().in_blocks);
}

TEST_P(ChannelsInBlocks, TrainToTheSameBitsAsArrays) {
  ExpectBitsOfUnplannedTraining(ParseNet(Between(GetParam().layers)), 3);
}

/// A pass with the same random numbers each time.
void ForwardSeeded(Net<float>* net) {
  Caffe::set_random_seed(6);
  net->Forward();
}

TEST_P(ChannelsInBlocks, AreArraysToUsers) {
  const NetParameter param = ParseNet(Between(GetParam().layers));
  const bool fused = false;  // so that all values exist
  const auto arrays = Planned(param, false, fused), net = Planned(param, true, fused);
  EXPECT_EQ(arrays->planned()->values_in_blocks(), 0);
  EXPECT_EQ(net->planned()->values_in_blocks() > 0, GetParam().in_blocks);
  const auto same = [&](const auto& values_of) {
    for (const string& name : net->blob_names()) {
      EXPECT_TRUE(
          SameBits(values_of(*net->blob_by_name(name)), values_of(*arrays->blob_by_name(name))))
          << name;
    }
  };
  for (Net<float>* one : {net.get(), arrays.get()}) ForwardSeeded(one);
  same(DataOf);
  // The backward must read what a user writes.
  for (Net<float>* one : {net.get(), arrays.get()}) {
    Blob<float>& a = *one->blob_by_name("a");
    for (int i = 0; i < a.count(); i += 5) a.mutable_cpu_data()[i] = 0.25f;
    one->Backward();
  }
  same(DataOf);
  same([&](const Blob<float>& blob) {
    return &blob == net->blob_by_name("x").get() || &blob == arrays->blob_by_name("x").get()
               ? std::vector<float>()  // has no derivative
               : DiffOf(blob);
  });
  for (size_t i = 0; i < net->learnable_params().size(); ++i) {
    EXPECT_TRUE(
        SameBits(DiffOf(*net->learnable_params()[i]), DiffOf(*arrays->learnable_params()[i])));
  }
  const std::vector<float> before = DataOf(*net->blob_by_name("a"));
  net->ForwardFromTo(0, 0);  // leaves the plan, with all values
  EXPECT_EQ(net->planned(), nullptr);
  EXPECT_TRUE(SameBits(DataOf(*net->blob_by_name("a")), before));
}

/// Notes the value of "a" at each layer, and writes some of it once. Pointers must stay valid for a
/// pass.
class Changer : public Net<float>::Callback {
 public:
  /// `in_place`: a layer works in place on "a", which then has another address.
  Changer(Net<float>* net, bool in_place) : net_(net), in_place_(in_place) {}
  std::vector<float> seen;

 protected:
  void run(int layer) override {
    if (layer < 1) return;
    Blob<float>& a = *net_->blob_by_name("a");
    seen.push_back(a.cpu_data()[17]);
    if (layer == 1) a.mutable_cpu_data()[17] = 3;
    if (!first_ || in_place_) first_ = a.cpu_data();
    seen.push_back(first_[17]);
  }

 private:
  Net<float>* const net_;
  const bool in_place_;
  const float* first_ = nullptr;
};

TEST_P(ChannelsInBlocks, AreArraysToCallbacks) {
  const NetParameter param = ParseNet(Between(GetParam().layers));
  const bool fused = false;
  const auto arrays = Planned(param, false, fused), net = Planned(param, true, fused);
  std::vector<float> seen[2], results[2];
  for (Net<float>* one : {net.get(), arrays.get()}) {
    Changer changer(one, GetParam().layers.find("top: \"a\"") != string::npos);
    one->add_after_forward(&changer);
    ForwardSeeded(one);
    seen[one == net.get()] = changer.seen;
    results[one == net.get()] = DataOf(*one->blob_by_name("d"));
  }
  EXPECT_EQ(net->planned()->values_in_blocks() > 0, GetParam().in_blocks);
  EXPECT_GT(seen[0].size(), 2u);
  EXPECT_TRUE(SameBits(seen[0], seen[1]));
  EXPECT_TRUE(SameBits(results[0], results[1]));
}

TEST_P(ChannelsInBlocks, TestToTheSameBitsAsArrays) {
  NetParameter param = ParseNet(Between(GetParam().layers));
  param.mutable_state()->set_phase(TEST);
  const auto arrays = Planned(param, false), net = Planned(param, true);
  EXPECT_EQ(net->planned()->values_in_blocks() > 0, GetParam().in_blocks);
  for (Net<float>* one : {net.get(), arrays.get()}) ForwardSeeded(one);
  EXPECT_TRUE(SameBits(DataOf(*net->blob_by_name("d")), DataOf(*arrays->blob_by_name("d"))));
}

TEST_P(ChannelsInBlocks, AreUsedAgainWhenTheNetIsPlacedAgain) {
  const NetParameter param = ParseNet(Between(GetParam().layers));
  Net<float> net(param);
  ASSERT_TRUE(net.Place({}).ok());
  net.ForwardBackward();
  const int values = net.planned()->values_in_blocks();
  net.ForwardFromTo(0, 1);
  net.ForwardBackward();
  EXPECT_EQ(net.planned()->values_in_blocks(), values);
  net.set_debug_info(true);  // no layers are fused any more
  net.ForwardBackward();
  EXPECT_GE(net.planned()->values_in_blocks(), values);
}

INSTANTIATE_TEST_SUITE_P(Between, ChannelsInBlocks, ::testing::ValuesIn(Middles()),
                         [](const auto& info) { return info.param.name; });

TEST(ChannelBlocks, AreNotUsedIfSwitchedOffOrNotPreferred) {
  const auto values = [](const string& text) {
    Net<float> net(ParseNet(text));
    CHECK(net.Place({}).ok());
    return net.planned()->values_in_blocks();
  };
  const string relu = Layer1("ReLU", "a", "c");
  EXPECT_EQ(Planned(ParseNet(Between(relu)), false)->planned()->values_in_blocks(), 0);
  // Channels that do not fill whole blocks.
  EXPECT_EQ(values(Data() + Convolution("a", "x", 72) + relu + Convolution("d", "c") + LossOf("d")),
            0);
  // No convolution.
  EXPECT_EQ(values(Data() + Layer1("Sigmoid", "x", "b") + Layer1("ReLU", "b", "c") + LossOf("c")),
            0);
  // Layrub's own kernels, by the prototxt's choice.
  const NetParameter own = WithOwnKernels(ParseNet(Between(relu)));
  Net<float> net(own);
  ASSERT_TRUE(net.Place({}).ok());
  EXPECT_EQ(net.planned()->values_in_blocks(), 0);
}

/// The user's derivative of an output in blocks is used in the first pass and after each placement.
TEST(ChannelBlocks, UseTheDerivativeThatTheUserWritesIntoAnOutput) {
  if (!HasBlocks()) GTEST_SKIP() << "no convolution by oneDNN wants blocks of channels here";
  const NetParameter param = ParseNet(Data() + Convolution("a", "x") + Layer1("ReLU", "a", "c") +
                                      Convolution("d", "c") + "force_backward: true");
  std::vector<float> gradients[2];
  for (const bool blocks : {false, true}) {
    Caffe::set_random_seed(5);
    Net<float> net(param);
    Blob<float>& out = *net.blob_by_name("d");
    for (int i = 0; i < out.count(); ++i)
      out.mutable_cpu_diff()[i] = static_cast<float>(i % 13) - 6;
    for (int pass = 0; pass < 3; ++pass) {
      PlacementOptions options;
      options.strategy = pass == 1 ? "liveness" : "keep";
      options.optimizations.channel_blocks = blocks;
      ASSERT_TRUE(net.Place(options).ok());
      EXPECT_EQ(net.planned()->values_in_blocks() > 0, blocks);
      net.Forward();
      net.Backward();
      for (const Blob<float>* of : net.learnable_params()) {
        const std::vector<float> diff = DiffOf(*of);
        gradients[blocks].insert(gradients[blocks].end(), diff.begin(), diff.end());
      }
    }
  }
  EXPECT_TRUE(SameBits(gradients[0], gradients[1]));
}

/// Pooling may turn planes of one value, for which blocks and arrays are the same, into larger
/// planes.
TEST(ChannelBlocks, AreNotUsedIfTheFirstBottomHasOneValuePerChannel) {
  if (!HasBlocks()) GTEST_SKIP() << "no convolution by oneDNN wants blocks of channels here";
  const NetParameter net = ParseNet(
      Between(Layer1("Pooling", "a", "b", "pooling_param { pool: AVE global_pooling: true }") +
              Layer1("Pooling", "b", "c", "pooling_param { kernel_size: 2 pad: 1 stride: 1 }")));
  OpenSolver reference(SolverFor(net)), solver(SolverFor(net, "keep"));
  const std::vector<float> unplanned = TrainUnplanned(&reference, 2);
  solver.Step(2);
  EXPECT_GT(solver.net()->planned()->values_in_blocks(), 0);  // "a"
  EXPECT_TRUE(SameBits(TrainedState(&solver), unplanned));
}

}  // namespace
}  // namespace caffe
