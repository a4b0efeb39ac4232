// Layers of users in nets with values in blocks of channels. They see arrays. If a layer ends the
// plan in the middle of a pass, values were arrays before, or are recomputed as arrays.
#include <algorithm>
#include <string>
#include <vector>

#include "caffe/layers/conv_layer.hpp"
#include "caffe/layers/pooling_layer.hpp"
#include "caffe/net/test/nets_in_blocks.hpp"

namespace caffe {

/// A source whose shape may change from pass to pass.
class StretchingLayer : public Layer<float> {
 public:
  using Layer<float>::Layer;
  const char* type() const override { return "TestStretching"; }
  void Reshape(const vector<Blob<float>*>&, const vector<Blob<float>*>& top) override {
    top[0]->Reshape({2, 3, rows, 5});
  }
  static inline int rows = 4;

 protected:
  void Forward_cpu(const vector<Blob<float>*>&, const vector<Blob<float>*>& top) override {
    for (int i = 0; i < top[0]->count(); ++i)
      top[0]->mutable_cpu_data()[i] = static_cast<float>(i % 11);
  }
};
LayerRegisterer<float> register_stretching("TestStretching", [](const LayerParameter& param) {
  return shared_ptr<Layer<float>>(new StretchingLayer(param));
});

namespace {

TEST(ChannelBlocks, AreNotUsedBeforeALayerThatMayEndThePlan) {
  if (!HasBlocks()) GTEST_SKIP() << "no convolution by oneDNN wants blocks of channels here";
  const string pool = Layer1("Pooling", "a", "b", "pooling_param { kernel_size: 3 stride: 1 }");
  const string middle = pool + Layer1("BatchNorm", "b", "b") + Layer1("ReLU", "b", "c");
  const string more = R"(layer { name: "more" type: "TestStretching" top: "more" }
      layer { name: "loss2" type: "Power" bottom: "more" top: "loss2" loss_weight: 0.001
              power_param { power: 2 shift: -1 } })";
  for (const bool first : {true, false}) {
    const NetParameter net = ParseNet(first ? more + Between(middle) : Between(middle) + more);
    const auto train = [&](const string& strategy) {
      StretchingLayer::rows = 4;
      OpenSolver solver(SolverFor(net, strategy));
      for (const int rows : {4, 4, 3, 3}) {
        StretchingLayer::rows = rows;
        if (strategy.empty()) {
          TrainUnplanned(&solver, 1);
          continue;
        }
        solver.Step(1);
        if (rows == 4) {
          EXPECT_EQ(solver.net()->planned()->values_in_blocks() > 0, first);
        }
      }
      return TrainedState(&solver);
    };
    const std::vector<float> unplanned = train("");
    ASSERT_TRUE(AllFinite(unplanned));
    for (const string strategy : {"keep", "intra", "hybrid", "superneurons"})
      EXPECT_TRUE(SameBits(train(strategy), unplanned)) << strategy << " " << first;
  }
}

/// Returns some rows of its bottom, other ones in each pass, without declaring it.
class ForgetfulLayer : public Layer<float> {
 public:
  using Layer<float>::Layer;
  const char* type() const override { return "TestForgetful"; }
  void Reshape(const vector<Blob<float>*>& bottom, const vector<Blob<float>*>& top) override {
    top[0]->Reshape({rows, bottom[0]->count(1)});
  }
  MemoryTraits Traits(const vector<Blob<float>*>&, const vector<Blob<float>*>&,
                      const vector<bool>&) const override {
    MemoryTraits traits;
    traits.declared = true;
    traits.forward.reads = {BottomData(0)};
    traits.forward.writes = {TopData(0)};
    OperandVariant backward;
    backward.reads = {TopDiff(0)};
    backward.writes = {BottomDiff(0)};
    traits.backward = {backward};
    return traits;
  }
  static inline int rows = 3;

 protected:
  void Forward_cpu(const vector<Blob<float>*>& bottom, const vector<Blob<float>*>& top) override {
    Reshape(bottom, top);
    std::copy_n(bottom[0]->cpu_data(), top[0]->count(), top[0]->mutable_cpu_data());
  }
  void Backward_cpu(const vector<Blob<float>*>& top, const vector<bool>&,
                    const vector<Blob<float>*>& bottom) override {
    std::fill_n(bottom[0]->mutable_cpu_diff(), bottom[0]->count(), 0.0f);
    std::copy_n(top[0]->cpu_diff(), top[0]->count(), bottom[0]->mutable_cpu_diff());
  }
};
LayerRegisterer<float> register_forgetful("TestForgetful", [](const LayerParameter& param) {
  return shared_ptr<Layer<float>>(new ForgetfulLayer(param));
});

TEST(ChannelBlocks, LayersRunAgainOnArraysWhenAnotherEndsThePlan) {
  if (!HasBlocks()) GTEST_SKIP() << "no convolution by oneDNN wants blocks of channels here";
  const string middle = Layer1("Pooling", "a", "b", "pooling_param { kernel_size: 3 stride: 2 }") +
                        Layer1("BatchNorm", "b", "b") + Layer1("ReLU", "b", "c");
  const NetParameter net =
      ParseNet(Data() + Convolution("a", "x") + middle + Convolution("d", "c") +
               Layer1("TestForgetful", "d", "e") + LossOf("e"));
  const auto train = [&](const string& strategy) {
    ForgetfulLayer::rows = 3;
    OpenSolver solver(SolverFor(net, strategy));
    for (const int rows : {3, 3, 2, 2, 3}) {
      ForgetfulLayer::rows = rows;
      if (strategy.empty()) {
        TrainUnplanned(&solver, 1);
        continue;
      }
      const bool planned = solver.iter() > 0 && solver.net()->planned();
      if (planned && rows == 3) {
        EXPECT_GT(solver.net()->planned()->values_in_blocks(), 0);
      }
      solver.Step(1);
    }
    return TrainedState(&solver);
  };
  const std::vector<float> unplanned = train("");
  ASSERT_TRUE(AllFinite(unplanned));
  for (const string strategy : {"keep", "liveness", "intra", "hybrid", "superneurons"})
    EXPECT_TRUE(SameBits(train(strategy), unplanned)) << strategy;
}

/// Declares traits for GPUs, but nothing about blocks.
class OwnPooling : public PoolingLayer<float> {
 public:
  using PoolingLayer<float>::PoolingLayer;
  MemoryTraits Traits(const vector<Blob<float>*>& bottom, const vector<Blob<float>*>& top,
                      const vector<bool>& propagate_down) const override {
    MemoryTraits traits = PoolingLayer<float>::Traits(bottom, top, propagate_down);
    traits.inherited = false;
    traits.takes_blocks = false;
    return traits;
  }
};
LayerRegisterer<float> register_pooling("TestOwnPooling", [](const LayerParameter& param) {
  return shared_ptr<Layer<float>>(new OwnPooling(param));
});

/// Computes one image after the other, with the same operands as its base.
class ConvolutionByImages : public ConvolutionLayer<float> {
 public:
  using ConvolutionLayer<float>::ConvolutionLayer;
  const char* type() const override { return "TestConvolutionByImages"; }
  MemoryTraits Traits(const vector<Blob<float>*>& bottom, const vector<Blob<float>*>& top,
                      const vector<bool>& propagate_down) const override {
    return BaseConvolutionLayer<float>::Traits(bottom, top, propagate_down);
  }

 protected:
  void Forward_cpu(const vector<Blob<float>*>& bottom, const vector<Blob<float>*>& top) override {
    for (int n = 0; n < this->num_; ++n) {
      this->forward_cpu_gemm(bottom[0]->cpu_data() + n * this->bottom_dim_,
                             this->blobs_[0]->cpu_data(),
                             top[0]->mutable_cpu_data() + n * this->top_dim_);
    }
  }
};
LayerRegisterer<float> register_images("TestConvolutionByImages", [](const LayerParameter& param) {
  return shared_ptr<Layer<float>>(new ConvolutionByImages(param));
});

TEST(ChannelBlocks, AreNotGivenToLayersOfUsers) {
  if (!HasBlocks()) GTEST_SKIP() << "no convolution by oneDNN wants blocks of channels here";
  string text = Between(Layer1("ReLU", "a", "c"));
  const string type = "\"Convolution\"";
  text.replace(text.rfind(type), type.size(), "\"TestConvolutionByImages\"");
  NetParameter param = ParseNet(text);
  param.mutable_state()->set_phase(TEST);
  const auto net = Planned(param, true);
  EXPECT_EQ(net->planned()->values_in_blocks(), 0);
  const string pooling = "pooling_param { kernel_size: 3 stride: 2 }";
  const auto pooled = Planned(ParseNet(Between(Layer1("TestOwnPooling", "a", "c", pooling))), true);
  EXPECT_EQ(pooled->planned()->values_in_blocks(), 0);
}

}  // namespace
}  // namespace caffe
