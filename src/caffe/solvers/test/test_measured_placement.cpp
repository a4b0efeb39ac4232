// Planning again from measured times.
#include "caffe/net/test/training.hpp"
#include "layrub/profile.hpp"

namespace caffe {
namespace {

constexpr int kIterations = 8;  // more than are measured

class MeasuredPlacement : public ::testing::TestWithParam<std::string> {};

/// Trains with `param`, measuring if wanted; what `machine` then holds.
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
  const std::vector<float> plain = Train(param, false, &machine);
  EXPECT_TRUE(machine.measured.empty());
  EXPECT_TRUE(SameBits(Train(param, true, &machine), plain));
  EXPECT_FALSE(machine.measured.empty());
}

INSTANTIATE_TEST_SUITE_P(EveryStrategy, MeasuredPlacement,
                         ::testing::ValuesIn(layrub::StrategyNames()),
                         [](const auto& test) { return test.param; });

TEST(MeasuredPlacement, IsOffWhereTheSamePlanIsWanted) {
  layrub::Machine machine;
  SolverParameter param = SolverFor(ReadNet("lenet"), "hybrid");
  param.mutable_placement()->set_deterministic(true);
  Train(param, true, &machine);
  EXPECT_TRUE(machine.measured.empty());
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

TEST(MeasuredPlacement, GoesOnWithTheTestNetsPlaced) {
  SolverParameter param = SolverFor(ReadNet("lenet"), "hybrid");
  param.mutable_net_param()->mutable_state()->clear_phase();
  param.add_test_iter(1);
  param.set_test_interval(3);
  param.set_test_initialization(false);
  layrub::Machine machine;
  const std::vector<float> plain = Train(param, false, &machine);
  EXPECT_TRUE(SameBits(Train(param, true, &machine), plain));
}

}  // namespace
}  // namespace caffe
