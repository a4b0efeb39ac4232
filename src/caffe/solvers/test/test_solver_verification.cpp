// Compares training under a plan with training without one, bit by bit.
#include "caffe/solver_verification.hpp"

#include <gtest/gtest.h>

#include "caffe/caffe.hpp"
#include "caffe/net/test/training.hpp"

namespace caffe {
namespace {

/// Copies its bottom. In every other net that is set up, changes one bit in pass kWrongPass.
class WrongLayer : public Layer<float> {
 public:
  static constexpr int kWrongPass = 2;
  static int set_up;
  explicit WrongLayer(const LayerParameter& param) : Layer<float>(param) {}
  void LayerSetUp(const vector<Blob<float>*>&, const vector<Blob<float>*>&) override {
    wrong_ = set_up++ % 2 == 0;
  }
  void Reshape(const vector<Blob<float>*>& bottom, const vector<Blob<float>*>& top) override {
    top[0]->ReshapeLike(*bottom[0]);
  }
  const char* type() const override { return "Wrong"; }

 protected:
  void Forward_cpu(const vector<Blob<float>*>& bottom, const vector<Blob<float>*>& top) override {
    top[0]->CopyFrom(*bottom[0]);
    if (++passes_ != kWrongPass || !wrong_) return;
    float* value = top[0]->mutable_cpu_data();
    uint32_t bits;
    std::memcpy(&bits, value, sizeof(bits));
    bits ^= 1u << 20;
    std::memcpy(value, &bits, sizeof(bits));
  }
  void Backward_cpu(const vector<Blob<float>*>& top, const vector<bool>&,
                    const vector<Blob<float>*>& bottom) override {
    bottom[0]->CopyFrom(*top[0], true);
  }

 private:
  bool wrong_ = false;
  int passes_ = 0;
};
int WrongLayer::set_up = 0;
shared_ptr<Layer<float>> MakeWrong(const LayerParameter& param) {
  return shared_ptr<Layer<float>>(new WrongLayer(param));
}
LayerRegisterer<float> registered_wrong("Wrong", MakeWrong);

/// y = e^x, and a backward that reads y: written as for Caffe, without traits.
class UserExpLayer : public Layer<float> {
 public:
  using Layer<float>::Layer;
  void Reshape(const vector<Blob<float>*>& bottom, const vector<Blob<float>*>& top) override {
    top[0]->ReshapeLike(*bottom[0]);
  }
  const char* type() const override { return "UserExp"; }

 protected:
  void Forward_cpu(const vector<Blob<float>*>& bottom, const vector<Blob<float>*>& top) override {
    caffe_exp(bottom[0]->count(), bottom[0]->cpu_data(), top[0]->mutable_cpu_data());
  }
  void Backward_cpu(const vector<Blob<float>*>& top, const vector<bool>&,
                    const vector<Blob<float>*>& bottom) override {
    caffe_mul(top[0]->count(), top[0]->cpu_data(), top[0]->cpu_diff(),
              bottom[0]->mutable_cpu_diff());
  }
};
LayerRegisterer<float> registered_exp("UserExp", [](const LayerParameter& param) {
  return shared_ptr<Layer<float>>(new UserExpLayer(param));
});

constexpr int kIterations = 3;

SolverParameter NetWith(const string& type, const string& after = "") {
  return SolverFor(ParseNet(R"(
    layer { name: "data" type: "DummyData" top: "data" top: "label" dummy_data_param {
      shape { dim: 4 dim: 6 } shape { dim: 4 dim: 2 } data_filler { type: "gaussian" } } }
    layer { name: "ip" type: "InnerProduct" bottom: "data" top: "ip" inner_product_param {
      num_output: 2 weight_filler { type: "gaussian" } } }
    layer { name: "last" type: ")" +
                            type + R"(" bottom: "ip" top: "last" })" + after + R"(
    layer { name: "loss" type: "EuclideanLoss" bottom: "last" bottom: "label" top: "loss" })"),
                   "hybrid");
}

class EveryStrategy : public ::testing::TestWithParam<string> {};

TEST_P(EveryStrategy, IsVerified) {
  for (const char* net : {"lenet", "mini_resnet"}) {
    const auto difference = VerifyPlacement(SolverFor(ReadNet(net), GetParam()), kIterations);
    ASSERT_TRUE(difference.ok()) << difference.status().message;
    EXPECT_EQ("", difference.value());
  }
}
INSTANTIATE_TEST_SUITE_P(Placement, EveryStrategy, ::testing::ValuesIn(layrub::StrategyNames()));

TEST(VerifyPlacement, FindsALayerThatFailsUnderThePlan) {
  const auto difference = VerifyPlacement(NetWith("Wrong"), kIterations);
  ASSERT_TRUE(difference.ok()) << difference.status().message;
  EXPECT_TRUE(difference.value().rfind("iteration 2, the loss, index 0: ", 0) == 0)
      << difference.value();
  EXPECT_NE(string::npos, difference.value().find(" under the plan, ")) << difference.value();
  EXPECT_EQ(string::npos, difference.value().find("in place")) << difference.value();
  EXPECT_EQ(3, WrongLayer::set_up);
}

TEST(VerifyPlacement, NamesTheInPlaceLayerWhoseOverwritingIsNotRepeated) {
  const auto difference = VerifyPlacement(
      NetWith("UserExp", "layer { name: 'tanh' type: 'TanH' bottom: 'last' top: 'last' }"), 2);
  ASSERT_TRUE(difference.ok()) << difference.status().message;
  EXPECT_NE(string::npos,
            difference.value().find("layer tanh overwrites blob 'last' in place, and layer last's "
                                    "backward reads its memory: without a plan it finds what was "
                                    "written, as in Caffe, under a plan what it was given"))
      << difference.value();
}

TEST(VerifyPlacement, AcceptsACorrectLayerAndChecksTestNets) {
  SolverParameter param = NetWith("TanH");
  *param.mutable_train_net_param() = param.net_param();
  param.clear_net_param();
  *param.add_test_net_param() = param.train_net_param();
  param.add_test_iter(1);
  param.set_test_interval(1);
  param.mutable_test_net_param(0)->mutable_state()->set_phase(TEST);
  const auto difference = VerifyPlacement(param, kIterations);
  ASSERT_TRUE(difference.ok()) << difference.status().message;
  EXPECT_EQ("", difference.value());
}

TEST(VerifyPlacement, ReportsWhatDoesNotFit) {
  SolverParameter param = NetWith("TanH");
  param.mutable_placement()->set_device_memory("1KiB");
  EXPECT_EQ(layrub::Code::kDoesNotFit, VerifyPlacement(param, 1).status().code);
}

}  // namespace
}  // namespace caffe
