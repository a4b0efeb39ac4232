// Nets as graphs: versions of in-place blobs, views, derivatives that no layer computes, roles.
#include <algorithm>

#include "caffe/net/test/training.hpp"
#include "caffe/test/expect_error.hpp"

namespace caffe {
namespace {

layrub::Graph GraphOf(const string& text, int histories = 1, const vector<string>& keep = {}) {
  return Net<float>(ParseNet(text)).MemoryGraph(histories, keep);
}

const char kData[] = R"(
  layer { name: "data" type: "DummyData" top: "data" top: "label"
          dummy_data_param { shape { dim: 2 dim: 3 dim: 4 dim: 4 } shape { dim: 2 }
                             data_filler { type: "gaussian" } data_filler { type: "constant" } } }
)";
const char kConv[] = R"(
  layer { name: "conv" type: "Convolution" bottom: "data" top: "conv"
          convolution_param { num_output: 4 kernel_size: 3 pad: 1 weight_filler { type: "xavier" } } }
)";
const char kEnd[] = R"(
  layer { name: "ip" type: "InnerProduct" bottom: "conv" top: "ip"
          inner_product_param { num_output: 5 weight_filler { type: "xavier" } } }
  layer { name: "loss" type: "SoftmaxWithLoss" bottom: "ip" bottom: "label" top: "loss" }
)";

const layrub::Tensor* Find(const layrub::Graph& graph, const string& name) {
  for (const layrub::Tensor& tensor : graph.tensors) {
    if (tensor.name == name) return &tensor;
  }
  return nullptr;
}
const layrub::Op* FindOp(const layrub::Graph& graph, const string& name) {
  for (const layrub::Op& op : graph.ops) {
    if (op.name == name) return &op;
  }
  return nullptr;
}
vector<string> Names(const layrub::Graph& graph, const vector<layrub::TensorId>& ids) {
  vector<string> names;
  for (layrub::TensorId id : ids) names.push_back(graph.tensors[id].name);
  std::sort(names.begin(), names.end());
  return names;
}

TEST(NetGraph, GivesEachInPlaceLayerItsOwnVersion) {
  const layrub::Graph graph =
      GraphOf(string(kData) + kConv +
              "layer { name: 'relu' type: 'ReLU' bottom: 'conv' top: 'conv' }" + kEnd);
  EXPECT_TRUE(layrub::Validate(graph).ok()) << layrub::Validate(graph).message;
  ASSERT_NE(Find(graph, "conv"), nullptr);
  ASSERT_NE(Find(graph, "conv@1"), nullptr);
  EXPECT_EQ(Find(graph, "conv")->blob, Find(graph, "conv@1")->blob);
  EXPECT_EQ(Find(graph, "conv.grad")->blob, Find(graph, "conv@1.grad")->blob);
  EXPECT_NE(Find(graph, "conv.grad")->blob, Find(graph, "conv")->blob);
  EXPECT_EQ(Names(graph, FindOp(graph, "relu/forward")->variants[0].reads),
            vector<string>({"conv"}));
  const auto reads = Names(graph, FindOp(graph, "ip/backward")->variants[0].reads);
  EXPECT_TRUE(std::count(reads.begin(), reads.end(), "conv@1"));
  EXPECT_FALSE(std::count(reads.begin(), reads.end(), "conv"));
}

TEST(NetGraph, KnowsRolesAndState) {
  const layrub::Graph graph = GraphOf(string(kData) + kConv + kEnd);
  EXPECT_EQ(Find(graph, "conv[0]")->role, layrub::Role::kParameter);
  EXPECT_TRUE(Find(graph, "conv[0]")->is_state());
  EXPECT_EQ(Find(graph, "conv[0].grad")->role, layrub::Role::kParameterGradient);
  EXPECT_EQ(Find(graph, "conv[0].history0")->role, layrub::Role::kHistory);
  EXPECT_EQ(Find(graph, "conv")->role, layrub::Role::kActivation);
  EXPECT_EQ(Find(graph, "conv")->bytes, 2 * 4 * 4 * 4 * 4);
  EXPECT_FALSE(Find(graph, "conv")->is_state());
  EXPECT_TRUE(Find(graph, "loss.grad")->is_state());  // the loss weight
  EXPECT_TRUE(Find(graph, "loss")->keep);             // an output of the net
  EXPECT_FALSE(FindOp(graph, "data/forward")->repeatable);
  EXPECT_EQ(FindOp(graph, "conv[0]/update")->kind, layrub::OpKind::kUpdate);
}

TEST(NetGraph, KeepsNamedBlobsAndRefusesUnknownOnes) {
  const string net = string(kData) + kConv + kEnd;
  EXPECT_FALSE(Find(GraphOf(net), "conv")->keep);
  EXPECT_TRUE(Find(GraphOf(net, 1, {"conv"}), "conv")->keep);
  EXPECT_ERROR(GraphOf(net, 1, {"cnov"}), "keep names blob 'cnov', which the net lacks");
}

TEST(NetGraph, HasNoUpdatesWithoutASolverAndNoBackwardInTest) {
  EXPECT_EQ(FindOp(GraphOf(string(kData) + kConv + kEnd, -1), "conv[0]/update"), nullptr);
  NetParameter param = ParseNet(string(kData) + kConv + kEnd);
  param.mutable_state()->set_phase(TEST);
  const layrub::Graph graph = Net<float>(param).MemoryGraph(-1);
  for (const layrub::Op& op : graph.ops) EXPECT_EQ(op.pass, layrub::Pass::kForward);
  EXPECT_EQ(Find(graph, "conv.grad"), nullptr);
}

TEST(NetGraph, SplitDataAreViewsAndDerivativesAreSummed) {
  const layrub::Graph graph =
      GraphOf(string(kData) + kConv + kEnd +
              "layer { name: 'accuracy' type: 'Accuracy' bottom: 'ip' bottom: 'label' top: 'a' }");
  EXPECT_EQ(Find(graph, "ip_ip_0_split_0"), nullptr);
  ASSERT_NE(Find(graph, "ip_ip_0_split_1.grad"), nullptr);
  const layrub::Op* split = FindOp(graph, "ip_ip_0_split/backward");
  ASSERT_NE(split, nullptr);
  EXPECT_EQ(split->variants[0].reads.size(), 2u);
  EXPECT_EQ(Names(graph, split->variants[0].writes), vector<string>({"ip.grad"}));
}

TEST(NetGraph, FillsDerivativesThatNoLayerComputes) {
  const layrub::Graph graph =
      GraphOf(string(kData) + kConv + kEnd +
              "layer { name: 'accuracy' type: 'Accuracy' bottom: 'ip' bottom: 'label' top: 'a' }");
  int fills = 0;
  for (const layrub::Op& op : graph.ops) {
    if (op.kind != layrub::OpKind::kFill) continue;
    ++fills;
    EXPECT_EQ(graph.tensors[op.variants[0].writes[0]].name.find("ip_ip_0_split_"), 0u);
  }
  EXPECT_EQ(fills, 1);
}

TEST(NetGraph, MarksTheBlobsThatTheUserWantsToRead) {
  const layrub::Graph graph =
      GraphOf(string(kData) + kConv +
                  "layer { name: 'relu' type: 'ReLU' bottom: 'conv' top: 'conv' }" + kEnd,
              1, {"conv"});
  EXPECT_FALSE(Find(graph, "conv")->keep);
  EXPECT_TRUE(Find(graph, "conv@1")->keep);
}

/// A user's layer without traits: doubles its input, in place if asked.
class TwiceLayer : public Layer<float> {
 public:
  using Layer<float>::Layer;
  const char* type() const override { return "TestTwice"; }
  void Reshape(const vector<Blob<float>*>& bottom, const vector<Blob<float>*>& top) override {
    if (top[0] != bottom[0]) top[0]->ReshapeLike(*bottom[0]);
  }

 protected:
  void Forward_cpu(const vector<Blob<float>*>& bottom, const vector<Blob<float>*>& top) override {
    // Caffe's own layers use the bottom's diff as workspace in forward; users' may too.
    bottom[0]->mutable_cpu_diff()[0] = 1;
    for (int i = 0; i < bottom[0]->count(); ++i)
      top[0]->mutable_cpu_data()[i] = 2 * bottom[0]->cpu_data()[i];
  }
  void Backward_cpu(const vector<Blob<float>*>& top, const vector<bool>& propagate_down,
                    const vector<Blob<float>*>& bottom) override {
    if (!propagate_down[0]) return;
    for (int i = 0; i < bottom[0]->count(); ++i)
      bottom[0]->mutable_cpu_diff()[i] = 2 * top[0]->cpu_diff()[i];
  }
};
LayerRegisterer<float> register_twice("TestTwice", [](const LayerParameter& param) {
  return shared_ptr<Layer<float>>(new TwiceLayer(param));
});

TEST(NetGraph, RunsLayersWithoutTraitsInPlaceOnOneTensor) {
  const layrub::Graph graph =
      GraphOf(string(kData) + kConv +
              "layer { name: 'twice' type: 'TestTwice' bottom: 'conv' top: 'conv' }" + kEnd);
  EXPECT_TRUE(layrub::Validate(graph).ok()) << layrub::Validate(graph).message;
  EXPECT_EQ(Find(graph, "conv@1"), nullptr);
  const layrub::Variant& variant = FindOp(graph, "twice/forward")->variants[0];
  EXPECT_EQ(Names(graph, variant.reads), vector<string>({"conv"}));
  // The layer above overwrites the derivative that the forward may leave, so nothing reads it.
  EXPECT_EQ(Names(graph, variant.writes), vector<string>({"conv"}));
  ASSERT_EQ(variant.algorithms.size(), 1u);
  EXPECT_EQ(graph.tensors[variant.algorithms[0].workspace].bytes, Find(graph, "conv.grad")->bytes);
}

TEST(NetGraph, LetsLayersWithoutTraitsReadAndWriteAllTheyAreGiven) {
  const layrub::Graph graph =
      GraphOf(string(kData) + kConv +
              "layer { name: 'tanh' type: 'TanH' bottom: 'conv' top: 'conv' }"
              "layer { name: 'twice' type: 'TestTwice' bottom: 'conv' top: 'twice' }" +
              "layer { name: 'end' type: 'InnerProduct' bottom: 'twice' top: 'end' "
              "inner_product_param { num_output: 2 } }");
  const layrub::Variant& variant = FindOp(graph, "twice/forward")->variants[0];
  EXPECT_EQ(Names(graph, variant.reads), vector<string>({"conv@1"}));
  EXPECT_EQ(Names(graph, variant.writes),
            vector<string>({"conv@1", "conv@1.grad", "twice", "twice.grad"}));
}

TEST(NetGraph, TrainsLayersWithoutTraitsUnderEveryStrategy) {
  for (const char* top : {"conv", "twice"}) {
    string end = kEnd;
    end.replace(end.find("bottom: \"conv\""), 14, string("bottom: \"") + top + "\"");
    const NetParameter net = ParseNet(
        string(kData) + kConv + "layer { name: 'twice' type: 'TestTwice' bottom: 'conv' top: '" +
        top + "' }" + end);
    vector<float> expected;
    for (const string& strategy : layrub::StrategyNames()) {
      OpenSolver solver(SolverFor(net, strategy));
      solver.mutable_placement_extra()->executor.poison = true;
      solver.Step(3);
      const vector<float> state = TrainedState(&solver);
      EXPECT_TRUE(AllFinite(state));
      if (expected.empty()) expected = state;
      EXPECT_TRUE(SameBits(state, expected)) << strategy;
    }
  }
}

}  // namespace
}  // namespace caffe
