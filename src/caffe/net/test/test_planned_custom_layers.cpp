// Users' own layers without traits give the same results with and without a plan.
#include <stdexcept>

#include "caffe/layers/base_data_layer.hpp"
#include "caffe/net/test/training.hpp"

namespace caffe {
namespace {

/// Doubles its bottom like a layer written for Caffe: may run in place, has no traits.
class DoubleLayer : public Layer<float> {
 public:
  using Layer<float>::Layer;
  const char* type() const override { return "TestDouble"; }
  void Reshape(const vector<Blob<float>*>& bottom, const vector<Blob<float>*>& top) override {
    top[0]->ReshapeLike(*bottom[0]);
  }

 protected:
  void Forward_cpu(const vector<Blob<float>*>& bottom, const vector<Blob<float>*>& top) override {
    const float* x = bottom[0]->cpu_data();
    float* y = top[0]->mutable_cpu_data();
    for (int i = 0; i < bottom[0]->count(); ++i) y[i] = 2 * x[i];
  }
  void Backward_cpu(const vector<Blob<float>*>& top, const vector<bool>& propagate_down,
                    const vector<Blob<float>*>& bottom) override {
    if (!propagate_down[0]) return;
    const float* dy = top[0]->cpu_diff();
    float* dx = bottom[0]->mutable_cpu_diff();
    for (int i = 0; i < bottom[0]->count(); ++i) dx[i] = 2 * dy[i];
  }
};
LayerRegisterer<float> register_double("TestDouble", [](const LayerParameter& param) {
  return shared_ptr<Layer<float>>(new DoubleLayer(param));
});

/// sum x^4 / 4. The forward leaves the derivative in the bottom's diff, like Caffe's hinge loss.
class EarlyGradientLossLayer : public Layer<float> {
 public:
  using Layer<float>::Layer;
  const char* type() const override { return "TestEarlyGradientLoss"; }
  void LayerSetUp(const vector<Blob<float>*>&, const vector<Blob<float>*>&) override {
    if (layer_param_.loss_weight_size() == 0) layer_param_.add_loss_weight(1);
  }
  void Reshape(const vector<Blob<float>*>&, const vector<Blob<float>*>& top) override {
    top[0]->Reshape(vector<int>());
  }

 protected:
  void Forward_cpu(const vector<Blob<float>*>& bottom, const vector<Blob<float>*>& top) override {
    const float* x = bottom[0]->cpu_data();
    float* dx = bottom[0]->mutable_cpu_diff();
    float sum = 0;
    for (int i = 0; i < bottom[0]->count(); ++i) {
      dx[i] = x[i] * x[i] * x[i];
      sum += dx[i] * x[i] / 4;
    }
    top[0]->mutable_cpu_data()[0] = sum;
  }
  void Backward_cpu(const vector<Blob<float>*>& top, const vector<bool>& propagate_down,
                    const vector<Blob<float>*>& bottom) override {
    if (!propagate_down[0]) return;
    const float weight = top[0]->cpu_diff()[0];
    float* dx = bottom[0]->mutable_cpu_diff();
    for (int i = 0; i < bottom[0]->count(); ++i) dx[i] *= weight;
  }
};
LayerRegisterer<float> register_loss("TestEarlyGradientLoss", [](const LayerParameter& param) {
  return shared_ptr<Layer<float>>(new EarlyGradientLossLayer(param));
});

/// A view of its bottom, as Caffe's reshaping layers are.
class ViewLayer : public DoubleLayer {
 public:
  using DoubleLayer::DoubleLayer;

 protected:
  void Forward_cpu(const vector<Blob<float>*>& bottom, const vector<Blob<float>*>& top) override {
    top[0]->ShareData(*bottom[0]);
  }
  void Backward_cpu(const vector<Blob<float>*>& top, const vector<bool>&,
                    const vector<Blob<float>*>& bottom) override {
    bottom[0]->ShareDiff(*top[0]);
  }
};
LayerRegisterer<float> register_view("TestView", [](const LayerParameter& param) {
  return shared_ptr<Layer<float>>(new ViewLayer(param));
});

/// Throws in its second forward.
class ThrowingLayer : public DoubleLayer {
 public:
  using DoubleLayer::DoubleLayer;

 protected:
  void Forward_cpu(const vector<Blob<float>*>& bottom, const vector<Blob<float>*>& top) override {
    DoubleLayer::Forward_cpu(bottom, top);
    if (++passes_ == 2) throw std::runtime_error("no luck");
  }
  int passes_ = 0;
};
LayerRegisterer<float> register_throwing("TestThrowing", [](const LayerParameter& param) {
  return shared_ptr<Layer<float>>(new ThrowingLayer(param));
});

/// Sources as users write them. This one sets its values once, at set-up.
class OnceSourceLayer : public Layer<float> {
 public:
  using Layer<float>::Layer;
  const char* type() const override { return "TestOnceSource"; }
  void LayerSetUp(const vector<Blob<float>*>&, const vector<Blob<float>*>& top) override {
    top[0]->Reshape({8, 6});
    for (int i = 0; i < top[0]->count(); ++i)
      top[0]->mutable_cpu_data()[i] = static_cast<float>(i % 5) / 3;
  }
  void Reshape(const vector<Blob<float>*>&, const vector<Blob<float>*>&) override {}

 protected:
  void Forward_cpu(const vector<Blob<float>*>&, const vector<Blob<float>*>&) override {}
  void Backward_cpu(const vector<Blob<float>*>&, const vector<bool>&,
                    const vector<Blob<float>*>&) override {}
};
LayerRegisterer<float> register_once("TestOnceSource", [](const LayerParameter& param) {
  return shared_ptr<Layer<float>>(new OnceSourceLayer(param));
});

class OwnMemorySourceLayer : public OnceSourceLayer {
 public:
  using OnceSourceLayer::OnceSourceLayer;
  void LayerSetUp(const vector<Blob<float>*>&, const vector<Blob<float>*>& top) override {
    top[0]->Reshape({8, 6});
  }

 protected:
  void Forward_cpu(const vector<Blob<float>*>&, const vector<Blob<float>*>& top) override {
    float* batch = batches_[passes_++ % 2];
    for (int i = 0; i < 48; ++i) batch[i] = static_cast<float>((i + passes_) % 7) / 4;
    top[0]->set_cpu_data(batch);
  }
  float batches_[2][48];
  int passes_ = 0;
};
LayerRegisterer<float> register_own("TestOwnMemorySource", [](const LayerParameter& param) {
  return shared_ptr<Layer<float>>(new OwnMemorySourceLayer(param));
});

/// A data layer of the user's, with the traits that it inherits.
class OwnMemoryDataLayer : public BaseDataLayer<float> {
 public:
  using BaseDataLayer<float>::BaseDataLayer;
  void DataLayerSetUp(const vector<Blob<float>*>&, const vector<Blob<float>*>& top) override {
    top[0]->Reshape({8, 6});
  }

 protected:
  void Forward_cpu(const vector<Blob<float>*>&, const vector<Blob<float>*>& top) override {
    for (int i = 0; i < 48; ++i) batch_[i] = static_cast<float>((i + passes_) % 7) / 4;
    ++passes_;
    top[0]->set_cpu_data(batch_);
  }
  float batch_[48];
  int passes_ = 0;
};
LayerRegisterer<float> register_own_data("TestOwnMemoryData", [](const LayerParameter& param) {
  return shared_ptr<Layer<float>>(new OwnMemoryDataLayer(param));
});

/// Has its result in memory of its own.
class OwnMemoryDoubleLayer : public DoubleLayer {
 public:
  using DoubleLayer::DoubleLayer;

 protected:
  void Forward_cpu(const vector<Blob<float>*>& bottom, const vector<Blob<float>*>& top) override {
    y_.assign(bottom[0]->cpu_data(), bottom[0]->cpu_data() + bottom[0]->count());
    for (float& value : y_) value *= 2;
    top[0]->set_cpu_data(y_.data());
  }
  vector<float> y_;
};
LayerRegisterer<float> register_own_double("TestOwnMemoryDouble", [](const LayerParameter& param) {
  return shared_ptr<Layer<float>>(new OwnMemoryDoubleLayer(param));
});

const char kBefore[] = R"(
  layer { name: "data" type: "DummyData" top: "data" top: "label"
          dummy_data_param { shape { dim: 8 dim: 6 } shape { dim: 8 }
                             data_filler { type: "gaussian" std: 1 } data_filler { value: 1 } } }
  layer { name: "ip1" type: "InnerProduct" bottom: "data" top: "ip1"
          inner_product_param { num_output: 7 weight_filler { type: "xavier" } } }
)";
const char kAfter[] = R"(
  layer { name: "ip2" type: "InnerProduct" bottom: "ip1" top: "ip2"
          inner_product_param { num_output: 4 weight_filler { type: "xavier" } } }
  layer { name: "loss" type: "SoftmaxWithLoss" bottom: "ip2" bottom: "label" top: "loss" }
)";

NetParameter With(const string& layers, const string& after = kAfter) {
  return ParseNet(kBefore + layers + after);
}

vector<float> Train(const NetParameter& net, const string& strategy) {
  OpenSolver solver(SolverFor(net, strategy));
  if (!strategy.empty()) {
    solver.mutable_placement_extra()->padding = 512;
    solver.mutable_placement_extra()->executor.poison = true;
    solver.Step(4);
    EXPECT_NE(solver.net()->planned(), nullptr);
    EXPECT_TRUE(solver.net()->planned()->executor().SentinelsIntact());
  } else {
    for (int i = 0; i < 4; ++i) {
      solver.net()->ClearParamDiffs();
      solver.net()->ForwardBackward();
      solver.ApplyUpdate();
    }
  }
  return TrainedState(&solver);
}

class CustomLayers : public ::testing::TestWithParam<string> {
 protected:
  static void ExpectTheBitsOfUnplannedTraining(const NetParameter& net) {
    const vector<float> state = Train(net, GetParam());
    EXPECT_TRUE(AllFinite(state));
    EXPECT_TRUE(SameBits(state, Train(net, "")));
  }
};

TEST_P(CustomLayers, RunInPlace) {
  ExpectTheBitsOfUnplannedTraining(
      With("layer { name: 'double' type: 'TestDouble' bottom: 'ip1' top: 'ip1' }"));
}

TEST_P(CustomLayers, MayBeFollowedByAnInPlaceLayer) {
  ExpectTheBitsOfUnplannedTraining(With(R"(
    layer { name: "double" type: "TestDouble" bottom: "ip1" top: "a" }
    layer { name: "relu" type: "ReLU" bottom: "a" top: "a" }
    layer { name: "double2" type: "TestDouble" bottom: "a" top: "b" }
    layer { name: "back" type: "InnerProduct" bottom: "b" top: "c" inner_product_param { num_output: 7
            weight_filler { type: "xavier" } } }
    layer { name: "sum" type: "Eltwise" bottom: "c" bottom: "ip1" top: "d" })",
                                        R"(
    layer { name: "ip2" type: "InnerProduct" bottom: "d" top: "ip2"
            inner_product_param { num_output: 4 weight_filler { type: "xavier" } } }
    layer { name: "loss" type: "SoftmaxWithLoss" bottom: "ip2" bottom: "label" top: "loss" })"));
}

TEST_P(CustomLayers, MayOverwriteAValueThatTheLayerBelowUses) {
  ExpectTheBitsOfUnplannedTraining(With(R"(
    layer { name: "tanh" type: "TanH" bottom: "ip1" top: "ip1" }
    layer { name: "double" type: "TestDouble" bottom: "ip1" top: "ip1" })"));
}

TEST_P(CustomLayers, MayLeaveADerivativeInForwardForBackward) {
  ExpectTheBitsOfUnplannedTraining(With("", R"(
    layer { name: "tanh" type: "TanH" bottom: "ip1" top: "a" }
    layer { name: "accuracy" type: "Accuracy" bottom: "a" bottom: "label" top: "accuracy" }
    layer { name: "ip2" type: "InnerProduct" bottom: "a" top: "ip2"
            inner_product_param { num_output: 4 weight_filler { type: "xavier" } } }
    layer { name: "early" type: "TestEarlyGradientLoss" bottom: "ip2" top: "early" }
    layer { name: "ip3" type: "InnerProduct" bottom: "a" top: "ip3"
            inner_product_param { num_output: 4 weight_filler { type: "xavier" } } }
    layer { name: "loss" type: "SoftmaxWithLoss" bottom: "ip3" bottom: "label" top: "loss" })"));
}

TEST_P(CustomLayers, MayBeSourcesThatFillTopsOnceOrUseTheirOwnMemory) {
  for (const char* type : {"TestOnceSource", "TestOwnMemorySource", "TestOwnMemoryData"}) {
    for (const char* in_place :
         {"", "layer { name: 'tanh' type: 'TanH' bottom: 'own' top: 'own' }"}) {
      ExpectTheBitsOfUnplannedTraining(
          With(string("layer { name: 'source' type: '") + type + "' top: 'own' }" + in_place + R"(
    layer { name: "ip_own" type: "InnerProduct" bottom: "own" top: "ip_own"
            inner_product_param { num_output: 7 weight_filler { type: "xavier" } } }
    layer { name: "sum" type: "Eltwise" bottom: "ip_own" bottom: "ip1" top: "d" })",
               R"(
    layer { name: "ip2" type: "InnerProduct" bottom: "d" top: "ip2"
            inner_product_param { num_output: 4 weight_filler { type: "xavier" } } }
    layer { name: "loss" type: "SoftmaxWithLoss" bottom: "ip2" bottom: "label" top: "loss" })"));
    }
  }
}

TEST_P(CustomLayers, MayHaveTheirTopInTheirOwnMemory) {
  for (const char* top : {"a", "ip1"}) {
    ExpectTheBitsOfUnplannedTraining(
        With(string("layer { name: 'double' type: 'TestOwnMemoryDouble' bottom: 'ip1' top: '") +
                 top + "' } layer { name: 'tanh' type: 'TanH' bottom: '" + top + "' top: 'b' }",
             R"(
    layer { name: "ip2" type: "InnerProduct" bottom: "b" top: "ip2"
            inner_product_param { num_output: 4 weight_filler { type: "xavier" } } }
    layer { name: "loss" type: "SoftmaxWithLoss" bottom: "ip2" bottom: "label" top: "loss" })"));
  }
}

TEST_P(CustomLayers, MayBeViews) {
  ExpectTheBitsOfUnplannedTraining(With(R"(
    layer { name: "view" type: "TestView" bottom: "ip1" top: "a" }
    layer { name: "tanh" type: "TanH" bottom: "a" top: "b" }
    layer { name: "accuracy" type: "Accuracy" bottom: "b" bottom: "label" top: "accuracy" }
    layer { name: "view2" type: "TestView" bottom: "b" top: "d" })",
                                        R"(
    layer { name: "ip2" type: "InnerProduct" bottom: "d" top: "ip2"
            inner_product_param { num_output: 4 weight_filler { type: "xavier" } } }
    layer { name: "loss" type: "SoftmaxWithLoss" bottom: "ip2" bottom: "label" top: "loss" })"));
}

TEST_P(CustomLayers, MayThrowAndTheNetGoesOn) {
  NetParameter param = With("layer { name: 't' type: 'TestThrowing' bottom: 'ip1' top: 'ip1' }");
  Net<float> net(param);
  PlacementOptions options;
  options.strategy = GetParam();
  ASSERT_TRUE(net.Place(options).ok());
  net.ForwardBackward();
  EXPECT_THROW(net.Forward(), std::runtime_error);
  EXPECT_TRUE(std::isfinite(net.params()[0]->asum_data()));
  net.ForwardBackward();
  EXPECT_TRUE(std::isfinite(net.output_blobs()[0]->asum_data()));
}

INSTANTIATE_TEST_SUITE_P(EveryStrategy, CustomLayers, ::testing::ValuesIn(layrub::StrategyNames()),
                         [](const auto& test) { return test.param; });

}  // namespace
}  // namespace caffe
