// A layer with a choice of algorithms: the plan chooses, tells the layer, and recomputations use
// the same one.
#include "caffe/net/test/training.hpp"
#include "layrub/placement/cost/algorithm_choices.hpp"
#include "layrub/placement/strategies/strategy.hpp"

namespace caffe {
namespace {

vector<string> used;  ///< names of the algorithms that forwards have used since this was cleared
double fast_seconds = 0;  ///< the declared time of "fast"

/// y = 3 x with workspace "small", 3.00001 x with "fast", which needs four times as much, and 3.1 x
/// with "wild", which is not reproducible.
class ChoosyLayer : public Layer<float> {
 public:
  using Layer<float>::Layer;
  const char* type() const override { return "TestChoosy"; }
  void Reshape(const vector<Blob<float>*>& bottom, const vector<Blob<float>*>& top) override {
    top[0]->ReshapeLike(*bottom[0]);
  }
  MemoryTraits Traits(const vector<Blob<float>*>& bottom, const vector<Blob<float>*>&,
                      const vector<bool>& propagate_down) const override {
    MemoryTraits traits;
    traits.declared = true;
    const int64_t bytes = bottom[0]->count() * int64_t{sizeof(float)};
    traits.forward.algorithms = {{"small", bytes, 2e-3, true},
                                 {"fast", 4 * bytes, fast_seconds, true},
                                 {"wild", 4 * bytes, 1e-9, false}};
    traits.forward.reads = {BottomData(0)};
    traits.forward.writes = {TopData(0)};
    if (!propagate_down[0]) return traits;
    traits.backward.resize(1);
    traits.backward[0].reads = {TopDiff(0)};
    traits.backward[0].writes = {BottomDiff(0)};
    return traits;
  }

 protected:
  void Forward_cpu(const vector<Blob<float>*>& bottom, const vector<Blob<float>*>& top) override {
    used.push_back(algorithm());
    const bool fast = algorithm() == "fast";
    const int count = bottom[0]->count();
    const float factor = fast ? 3.00001f : algorithm() == "small" ? 3.0f : 3.1f;
    float* workspace = WorkspaceBytes<float>();
    std::fill_n(workspace, fast ? 4 * count : count, factor);
    float* y = top[0]->mutable_cpu_data();
    for (int i = 0; i < count; ++i) y[i] = workspace[i] * bottom[0]->cpu_data()[i];
  }
  void Backward_cpu(const vector<Blob<float>*>& top, const vector<bool>& propagate_down,
                    const vector<Blob<float>*>& bottom) override {
    EXPECT_EQ(algorithm(), "");
    if (!propagate_down[0]) return;
    for (int i = 0; i < top[0]->count(); ++i)
      bottom[0]->mutable_cpu_diff()[i] = 3 * top[0]->cpu_diff()[i];
  }
};
LayerRegisterer<float> register_choosy("TestChoosy", [](const LayerParameter& param) {
  return shared_ptr<Layer<float>>(new ChoosyLayer(param));
});

/// Two inner products with a choosy layer between them, and after it a layer that reads its output.
NetParameter ChoosyNet() {
  return ParseNet(R"(
    name: "choosy"
    layer { name: "data" type: "DummyData" top: "x" top: "label"
            dummy_data_param { shape { dim: 8 dim: 40 } shape { dim: 8 }
                               data_filler { type: "gaussian" } data_filler { type: "constant" } } }
    layer { name: "ip" type: "InnerProduct" bottom: "x" top: "ip"
            inner_product_param { num_output: 100 weight_filler { type: "xavier" } } }
    layer { name: "choosy" type: "TestChoosy" bottom: "ip" top: "choosy" }
    layer { name: "power" type: "Power" bottom: "choosy" top: "power" power_param { power: 2 } }
    layer { name: "tanh" type: "TanH" bottom: "power" top: "tanh" }
    layer { name: "sigmoid" type: "Sigmoid" bottom: "tanh" top: "sigmoid" }
    layer { name: "ip2" type: "InnerProduct" bottom: "sigmoid" top: "ip2"
            inner_product_param { num_output: 100 weight_filler { type: "xavier" } } }
    layer { name: "out" type: "InnerProduct" bottom: "ip2" top: "out"
            inner_product_param { num_output: 5 weight_filler { type: "xavier" } } }
    layer { name: "loss" type: "SoftmaxWithLoss" bottom: "out" bottom: "label" top: "loss" })");
}

/// Returns the algorithms that forwards used in two iterations under `strategy`.
vector<string> UsedBy(const string& strategy, bool deterministic, int workspace = -1,
                      const string& device_memory = "") {
  SolverParameter param = SolverFor(ChoosyNet(), strategy);
  param.mutable_placement()->set_deterministic(deterministic);
  if (!device_memory.empty()) param.mutable_placement()->set_device_memory(device_memory);
  OpenSolver solver(param);
  solver.mutable_placement_extra()->algorithm = workspace;
  used.clear();
  solver.Step(2);
  return used;
}

/// The layers above have only CPU functions.
class PlannedAlgorithms : public ::testing::Test {
 protected:
  PlannedAlgorithms() { Caffe::set_mode(Caffe::CPU); }
};

TEST_F(PlannedAlgorithms, ThePlanChoosesAndTellsTheLayer) {
  fast_seconds = 1e-3;
  EXPECT_EQ(UsedBy("keep", false), vector<string>(2, "fast"));
  EXPECT_EQ(UsedBy("keep", false, 0), vector<string>(2, "small"));
  EXPECT_EQ(UsedBy("keep", false, 1), vector<string>(2, "fast"));
  EXPECT_EQ(UsedBy("keep", false, 2), vector<string>(2, "wild"));
  fast_seconds = 3e-3;
  EXPECT_EQ(UsedBy("keep", false), vector<string>(2, "small"));
}

TEST_F(PlannedAlgorithms, RecomputationUsesTheAlgorithmOfTheFirstRun) {
  fast_seconds = 1e-3;
  bool again = false;
  for (const string strategy : {"sqrt", "superneurons", "hybrid", "liveness"}) {
    const vector<string> names = UsedBy(strategy, false);
    again |= names.size() > 2;
    EXPECT_EQ(names, vector<string>(names.size(), names[0])) << strategy;
  }
  EXPECT_TRUE(again);
}

TEST_F(PlannedAlgorithms, DeterministicGivesTheSameBitsUnderEveryStrategy) {
  fast_seconds = 1e-3;
  std::vector<float> expected;
  for (const string& strategy : layrub::StrategyNames()) {
    SolverParameter param = SolverFor(ChoosyNet(), strategy);
    param.mutable_placement()->set_deterministic(true);
    OpenSolver solver(param);
    used.clear();
    solver.Step(3);
    EXPECT_EQ(used, vector<string>(used.size(), "fast")) << strategy;
    const std::vector<float> state = TrainedState(&solver);
    if (expected.empty()) expected = state;
    EXPECT_TRUE(SameBits(state, expected)) << strategy;
  }
}

TEST_F(PlannedAlgorithms, DirectCallsUseTheGrantedAlgorithm) {
  for (const double seconds : {1e-3, 3e-3}) {
    fast_seconds = seconds;
    Net<float> net(ChoosyNet());
    used.clear();
    net.Forward();
    EXPECT_EQ(used, vector<string>(1, seconds < 2e-3 ? "fast" : "small"));
  }
}

TEST_F(PlannedAlgorithms, GraphHasNamesAndBytesOfAlgorithms) {
  fast_seconds = 1e-3;
  const layrub::Graph graph = Net<float>(ChoosyNet()).MemoryGraph(-1);
  EXPECT_EQ(layrub::AlgorithmChoices(graph), 3);
  for (const layrub::Op& op : graph.ops) {
    if (op.name != "choosy/forward") continue;
    const std::vector<layrub::Algorithm>& workspace = op.variants[0].algorithms;
    ASSERT_EQ(workspace.size(), 3u);
    EXPECT_EQ(graph.tensors[workspace[1].workspace].name, "choosy/forward:fast");
    EXPECT_EQ(graph.tensors[workspace[1].workspace].bytes, 8 * 100 * 4 * 4);
    EXPECT_EQ(workspace[1].seconds, 1e-3);
    EXPECT_FALSE(workspace[2].deterministic);
  }
}

}  // namespace
}  // namespace caffe
