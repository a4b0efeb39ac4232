// Planning again from measured times.
#include "caffe/net/test/training.hpp"
#include "caffe/test/most_bytes.hpp"
#include "layrub/placement/cost/profile.hpp"
#include "layrub/placement/strategies/strategy.hpp"

namespace caffe {
namespace {

constexpr int kIterations = 8;  // more than the measured ones

class MeasuredPlacement : public ::testing::TestWithParam<std::string> {};

/// Trains with `param`, measuring if wanted, and stores the machine in `machine`.
std::vector<float> Train(const SolverParameter& param, bool measure, layrub::Machine* machine) {
  OpenSolver solver(param);
  solver.mutable_placement_extra()->measure = measure;
  solver.Step(kIterations);
  *machine = solver.mutable_placement_extra()->machine;
  EXPECT_TRUE(solver.net()->planned() != nullptr);
  if (!machine->measured.empty()) {
    const layrub::Graph& graph = solver.net()->planned()->graph();
    EXPECT_EQ(layrub::MeasuredOperations(graph, *machine), static_cast<int>(graph.ops.size()));
    EXPECT_TRUE(solver.net()->planned()->executor().timeline().spans.empty());
  }
  return TrainedState(&solver);
}

TEST_P(MeasuredPlacement, TrainsTheSameBits) {
  layrub::Machine machine;
  const SolverParameter param = SolverFor(ReadNet("mini_resnet"), GetParam());
  SolverParameter unmeasured = param;
  unmeasured.mutable_placement()->set_deterministic(true);
  const std::vector<float> plain = Train(unmeasured, false, &machine);
  EXPECT_TRUE(machine.measured.empty());
  EXPECT_TRUE(SameBits(Train(param, true, &machine), plain));
  EXPECT_FALSE(machine.measured.empty());
}

INSTANTIATE_TEST_SUITE_P(EveryStrategy, MeasuredPlacement,
                         ::testing::ValuesIn(layrub::StrategyNames()),
                         [](const auto& test) { return test.param; });

TEST(MeasuredPlacement, IsOffIfDeterministic) {
  layrub::Machine machine;
  SolverParameter param = SolverFor(ReadNet("lenet"), "hybrid");
  param.mutable_placement()->set_deterministic(true);
  Train(param, true, &machine);
  EXPECT_TRUE(machine.measured.empty());
}

TEST(MeasuredPlacement, IsOffIfThePlanMovesNothing) {
  layrub::Machine machine;
  SolverParameter param = SolverFor(ReadNet("mini_resnet"), "auto");
  Train(param, false, &machine);
  EXPECT_TRUE(machine.measured.empty());
  param.mutable_placement()->set_device_memory(BudgetFor(2 << 20));
  Train(param, false, &machine);
  EXPECT_FALSE(machine.measured.empty());
}

TEST(MeasuredPlacement, HappensOnce) {
  OpenSolver solver(SolverFor(ReadNet("lenet"), "inter"));
  solver.mutable_placement_extra()->measure = true;
  solver.Step(5);
  const layrub::Machine first = solver.mutable_placement_extra()->machine;
  ASSERT_FALSE(first.measured.empty());
  ASSERT_TRUE(solver.Place().ok());
  solver.Step(6);
  EXPECT_EQ(solver.mutable_placement_extra()->machine.link_down, first.link_down);
}

TEST(MeasuredPlacement, PlacesTheTestNetsAgain) {
  SolverParameter param = SolverFor(ReadNet("lenet"), "hybrid");
  param.mutable_net_param()->mutable_state()->clear_phase();
  param.add_test_iter(1);
  param.set_test_interval(3);
  param.set_test_initialization(false);
  layrub::Machine machine;
  const std::vector<float> plain = Train(param, false, &machine);
  EXPECT_TRUE(SameBits(Train(param, true, &machine), plain));
}

TEST(MeasuredPlacement, RestartsWhenAnInputChangesItsShape) {
  OpenSolver solver(SolverFor(ParseNet(R"(
    layer { name: "in" type: "Input" top: "x" top: "y" input_param { shape { dim: 4 dim: 3 } shape { dim: 4 dim: 2 } } }
    layer { name: "ip" type: "InnerProduct" bottom: "x" top: "ip" inner_product_param { num_output: 2 } }
    layer { name: "loss" type: "EuclideanLoss" bottom: "ip" bottom: "y" top: "loss" })"),
                              "liveness"));
  solver.mutable_placement_extra()->measure = true;
  const auto step = [&](int items, int iterations) {
    solver.net()->blob_by_name("x")->Reshape({items, 3});
    solver.net()->blob_by_name("y")->Reshape({items, 2});
    for (const char* name : {"x", "y"}) {
      Blob<float>* blob = solver.net()->blob_by_name(name).get();
      std::fill_n(blob->mutable_cpu_data(), blob->count(), 0.5f);
    }
    solver.Step(iterations);
  };
  const layrub::Machine& machine = solver.machine();
  step(4, 4);
  step(6, 4);
  EXPECT_TRUE(machine.measured.empty());
  step(6, 1);
  const layrub::Graph& graph = solver.net()->planned()->graph();
  EXPECT_EQ(layrub::MeasuredOperations(graph, machine), static_cast<int>(graph.ops.size()));
}

TEST(MeasuredPlacement, NeverHoldsTheStateTwice) {
  if (Caffe::mode() == Caffe::GPU)
    GTEST_SKIP() << "while nets are placed, the host holds what leaves a device";
  constexpr int64_t kState = 12 * 16 * kMiB;  // four matrices, their gradients and histories
  std::string net = R"(
    layer { name: "in" type: "DummyData" top: "x" top: "y"
            dummy_data_param { shape { dim: 1 dim: 2048 } shape { dim: 1 dim: 2048 } } })";
  for (const char* const name : {"x", "a", "b", "c"}) {
    const std::string bottom(name);
    const std::string top(1, bottom == "x" ? 'a' : static_cast<char>(bottom[0] + 1));
    net += "layer { name: 'ip_" + top + "' type: 'InnerProduct' bottom: '" + bottom + "' top: '" +
           top + "' inner_product_param { num_output: 2048 bias_term: false } }";
  }
  net += "layer { name: 'loss' type: 'EuclideanLoss' bottom: 'd' bottom: 'y' top: 'loss' }";
  const int64_t before = MostBytes();
  OpenSolver solver(SolverFor(ParseNet(net)));
  solver.Step(1);
  EXPECT_LT(MostBytes() - before, kState + 64 * kMiB);
  ASSERT_TRUE(solver.Place().ok());
  solver.Step(1);
  EXPECT_LT(MostBytes() - before, kState + 64 * kMiB);
  EXPECT_GT(MostBytes() - before, kState / 2);  // otherwise other memory hides the difference
}

}  // namespace
}  // namespace caffe
