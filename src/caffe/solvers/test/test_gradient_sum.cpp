// When the gradients of several solvers are summed, and which of them together.
#include <string>
#include <utility>
#include <vector>

#include "parallel_training.hpp"

namespace caffe {
namespace {

/// The only member of a group. Records the calls: "sum" is followed by the counts.
class Recorder : public layrub::Communicator {
 public:
  int rank() const override { return 0; }
  int size() const override { return 1; }
  layrub::Device* device() const override { return nullptr; }
  void Broadcast(const std::vector<layrub::Values>&) override { asked.emplace_back("broadcast"); }
  void Sum(const std::vector<layrub::Values>& values) override {
    string sum = "sum";
    for (const layrub::Values& one : values) sum += " " + std::to_string(one.count);
    asked.push_back(sum);
  }
  void Wait() override { asked.emplace_back("wait"); }
  void Synchronize() override { asked.emplace_back("synchronize"); }
  void Send(int, string, layrub::Channel) override {}
  std::optional<string> Receive(int, double, layrub::Channel) override { return std::nullopt; }
  void Abort(const string&) override {}

  std::vector<string> Take() { return std::exchange(asked, {}); }
  std::vector<string> asked;
};

/// Three InnerProduct layers, of which the second has 9 MB of weights.
NetParameter LargeNet() {
  const auto product = [](const string& name, const string& bottom, int outputs) {
    return "layer { name: '" + name + "' type: 'InnerProduct' bottom: '" + bottom + "' top: '" +
           name + "' inner_product_param { num_output: " + std::to_string(outputs) +
           " bias_term: false weight_filler { type: 'xavier' } } }";
  };
  return ParseNet(
      "name: 'large' layer { name: 'data' type: 'DummyData' top: 'data' top: 'label' "
      "dummy_data_param { shape { dim: 2 dim: 3 } shape { dim: 2 dim: 10 } "
      "data_filler { type: 'gaussian' } } }" +
      product("ip1", "data", 1500) + product("ip2", "ip1", 1500) + product("ip3", "ip2", 10) +
      "layer { name: 'loss' type: 'EuclideanLoss' bottom: 'ip3' bottom: 'label' }");
}

using Asked = std::vector<string>;

/// The number of iterations in which something runs for the first time. A GPU captures this net's
/// forward in the second one; between the sums of its backward there is too little to capture.
int FirstIterations() { return DeviceContext::Current().launch ? 2 : 1; }

TEST(GradientSum, SumsSomeMiBAtATimeDuringTheBackward) {
  OpenSolver solver(SolverFor(LargeNet()));
  Recorder group;
  GradientSum<float> sum(&solver, &group);
  sum.Broadcast();
  EXPECT_EQ(group.Take(), (Asked{"broadcast", "synchronize"}));
  for (int iteration = 0; iteration < 6; ++iteration) {
    solver.Step(1);
    const string last = iteration < FirstIterations() ? "synchronize" : "wait";
    EXPECT_EQ(group.Take(), (Asked{"sum 15000 2250000", "sum 4500", last})) << iteration;
  }
}

TEST(GradientSum, WaitsAfterTheBackwardAgainWithANewPlan) {
  OpenSolver solver(SolverFor(LargeNet()));
  Recorder group;
  GradientSum<float> sum(&solver, &group);
  solver.Step(5);
  group.Take();
  ASSERT_TRUE(solver.Place().ok());
  for (int iteration = 0; iteration < FirstIterations(); ++iteration) {
    solver.Step(1);
    EXPECT_EQ(group.Take(), (Asked{"sum 15000 2250000", "sum 4500", "synchronize"}));
  }
  solver.Step(1);
  EXPECT_EQ(group.Take(), (Asked{"sum 15000 2250000", "sum 4500", "wait"}));
}

TEST(GradientSum, SumsAfterTheBackwardWithoutLayerWiseReduce) {
  SolverParameter param = SolverFor(LargeNet());
  param.set_layer_wise_reduce(false);
  OpenSolver solver(param);
  Recorder group;
  GradientSum<float> sum(&solver, &group);
  solver.Step(5);
  Asked asked = group.Take();
  ASSERT_EQ(asked.size(), size_t{10});
  for (size_t i = 0; i < asked.size(); i += 2) EXPECT_EQ(asked[i], "sum 15000 2250000 4500");
  EXPECT_EQ(asked[1], "synchronize");
  EXPECT_EQ(asked[9], "wait");
}

TEST(GradientSum, CompletesBeforeATest) {
  SolverParameter param = SolverFor(LargeNet());
  *param.add_test_net_param() = LargeNet();
  param.add_test_iter(2);
  param.set_test_interval(4);
  param.set_test_initialization(false);
  OpenSolver solver(param);
  Recorder group;
  GradientSum<float> sum(&solver, &group);
  solver.Step(4);
  group.Take();
  solver.Step(1);
  EXPECT_EQ(group.Take(), (Asked{"synchronize", "sum 15000 2250000", "sum 4500", "wait"}));
}

TEST(GradientSum, GivesTheSameBitsDuringAndAfterTheBackward) {
  SolverParameter param = SolverFor(LargeNet());
  const std::vector<float> parts = TrainTogether(param, 2, 3);
  param.set_layer_wise_reduce(false);
  EXPECT_TRUE(SameBits(TrainTogether(param, 2, 3), parts));
  EXPECT_TRUE(AllFinite(parts));
}

}  // namespace
}  // namespace caffe
