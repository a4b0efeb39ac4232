// Test nets run under plans, too, in their own bytes or in the train net's, and change nothing in
// training.
#include "caffe/net/test/training.hpp"
#include "caffe/test/expect_error.hpp"
#include "layrub/placement/strategies/strategy.hpp"
#include "layrub/placement/test/strategy_kinds.hpp"
#include "layrub/placement/test/tiers.hpp"

namespace caffe {
namespace {

constexpr int kIterations = 4;

/// Returns `net` in the TEST phase with the same data in every pass: the random numbers of the
/// train net must not depend on the tests.
NetParameter ForTests(NetParameter net, int batch) {
  net.mutable_state()->set_phase(TEST);
  int64_t old_batch = 0;  // the static input of a recurrent layer has another first axis
  for (LayerParameter& layer : *net.mutable_layer()) {
    if (layer.type() != "DummyData") continue;
    DummyDataParameter* data = layer.mutable_dummy_data_param();
    if (old_batch == 0) old_batch = data->shape(0).dim(0);
    for (BlobShape& shape : *data->mutable_shape()) {
      if (shape.dim(0) == old_batch) shape.set_dim(0, batch);
    }
    data->clear_data_filler();
    data->add_data_filler()->set_type("constant");
    data->mutable_data_filler(0)->set_value(1);
  }
  return net;
}

/// Trains `net` under `strategy` and tests it with batches of `batch` after every `interval`
/// iterations.
SolverParameter WithTests(const std::string& net, const std::string& strategy, int interval,
                          int batch = 2) {
  SolverParameter solver = SolverFor(ReadNet(net), strategy);
  // Moves the train net from net_param to train_net_param, so that the test net can differ.
  solver.mutable_train_net_param()->Swap(solver.mutable_net_param());
  solver.clear_net_param();
  *solver.add_test_net_param() = ForTests(ReadNet(net), batch);
  solver.add_test_iter(1);
  solver.set_test_interval(interval);
  solver.set_test_initialization(true);
  return solver;
}

struct Outcome {
  std::vector<float> state;
  std::vector<std::vector<std::pair<std::string, float>>> scores;
  int64_t bytes;      ///< of all plans
  int64_t own_bytes;  ///< of all plans if no memory were shared
};

Outcome Train(const SolverParameter& param, bool poison = false) {
  OpenSolver solver(param);
  solver.mutable_placement_extra()->executor.poison = poison;
  solver.Step(kIterations);
  Outcome outcome{TrainedState(&solver), solver.test_scores(), solver.planned_device_bytes(),
                  solver.net()->planned()->plan().device_bytes};
  for (const auto& net : solver.test_nets()) {
    EXPECT_NE(net->planned(), nullptr);
    outcome.own_bytes += net->planned()->plan().device_bytes;
  }
  return outcome;
}

SolverParameter Within(SolverParameter param, int64_t bytes) {
  param.mutable_placement()->set_device_memory(BudgetFor(bytes));
  return param;
}

class PlannedTests : public ::testing::TestWithParam<std::tuple<std::string, std::string>> {
 protected:
  SolverParameter Param(int interval, int batch = 2) const {
    return WithTests(std::get<0>(GetParam()), std::get<1>(GetParam()), interval, batch);
  }
};

TEST_P(PlannedTests, ChangeNothingInTraining) {
  const Outcome with = Train(Param(2));
  EXPECT_EQ(with.bytes, with.own_bytes);
  SolverParameter never = Param(1000);
  never.set_test_initialization(false);
  EXPECT_TRUE(SameBits(with.state, Train(never).state));
  EXPECT_TRUE(AllFinite(with.state));
  ASSERT_EQ(with.scores.size(), 1u);
  EXPECT_FALSE(with.scores[0].empty());
}

INSTANTIATE_TEST_SUITE_P(EveryNetAndStrategy, PlannedTests,
                         ::testing::Combine(::testing::ValuesIn(SmallNets()),
                                            ::testing::ValuesIn(layrub::StrategyNames())),
                         [](const auto& test) {
                           return std::get<0>(test.param) + "_" + std::get<1>(test.param);
                         });

/// Each test searches the smallest budget, which takes long for the larger nets.
class TightPlannedTests : public PlannedTests {};

TEST_P(TightPlannedTests, ShareTheTrainNetsBytesIfTheBudgetIsTight) {
  const Outcome free = Train(Param(2));
  // A strategy that adapts has a plan for almost every budget, so a few searches come near the
  // smallest. Any other strategy has few plans, each of which is tried.
  const bool adapts = layrub::testing::Adapts(std::get<1>(GetParam()));
  int64_t too_few = adapts ? free.bytes / 8 : 0, bytes = free.bytes;
  bool shared = false;
  while (bytes - too_few > free.bytes / 100) {
    const int64_t budget = adapts ? (too_few + bytes) / 2 : bytes - 1;
    if (!OpenSolver(Within(Param(2), budget)).Place().ok()) {
      too_few = budget;
      continue;
    }
    const Outcome less = Train(Within(Param(2), budget));
    ASSERT_LT(less.bytes, bytes);
    bytes = less.bytes;
    shared = shared || less.bytes < less.own_bytes;
    EXPECT_TRUE(SameBits(less.state, free.state));
    EXPECT_EQ(less.scores, free.scores);
  }
  EXPECT_TRUE(shared);
}

INSTANTIATE_TEST_SUITE_P(
    SomeNetsAndEveryStrategy, TightPlannedTests,
    ::testing::Combine(::testing::ValuesIn(layrub::testing::LongExamples() > 0
                                               ? SmallNets()
                                               : std::vector<std::string>{"lenet", "mini_fcn",
                                                                          "shared_weights"}),
                       ::testing::ValuesIn(layrub::StrategyNames())),
    [](const auto& test) { return std::get<0>(test.param) + "_" + std::get<1>(test.param); });

/// Returns the scores of an unplanned net with the current parameters of `solver`.
std::vector<float> UnplannedScores(OpenSolver* solver, const NetParameter& net) {
  Net<float> plain(net);
  plain.ShareTrainedLayersWith(solver->net().get());
  std::vector<float> scores;
  for (const Blob<float>* output : plain.Forward()) {
    scores.insert(scores.end(), output->cpu_data(), output->cpu_data() + output->count());
  }
  return scores;
}

TEST(PlannedTestNets, ScoreLikeUnplannedNets) {
  SolverParameter param = WithTests("lenet", "hybrid", 3);
  param.set_test_iter(0, 1);
  OpenSolver solver(param);
  solver.Step(4);  // the last test saw the parameters of iteration 3; learn no more after that
  solver.net()->ClearParamDiffs();
  const std::vector<float> expected = UnplannedScores(&solver, param.test_net_param(0));
  const auto& outputs = solver.test_nets()[0]->Forward();
  std::vector<float> scores;
  for (const Blob<float>* output : outputs) {
    scores.insert(scores.end(), output->cpu_data(), output->cpu_data() + output->count());
  }
  EXPECT_TRUE(SameBits(scores, expected));
}

/// The fewest bytes of all plans of a solver.
int64_t SmallestBytes(const SolverParameter& param) {
  OpenSolver solver(param);
  const auto options = solver.WantedPlacement();
  CHECK(options.ok()) << options.status().message;
  const auto graphs = solver.MemoryGraphs(options.value());
  CHECK(graphs.ok()) << graphs.status().message;
  const auto smallest = SmallestPlans(graphs.value(), options.value());
  CHECK(smallest.ok()) << smallest.status().message;
  return smallest.value().device_bytes;
}

/// Of all nets of the solver: parameters at home off the device, and bytes that tests have copied.
std::pair<int, int64_t> ParametersAway(OpenSolver* solver) {
  int away = 0;
  const auto& train = *solver->net()->planned();
  for (const layrub::Home& home : train.plan().homes) {
    away += home.tier != layrub::Tier::kDevice &&
            train.graph().tensors[home.tensor].role == layrub::Role::kParameter;
  }
  return {away, solver->test_nets()[0]->planned()->executor().bytes_prefetched()};
}

class TestsOfStateOffTheDevice : public ::testing::TestWithParam<std::string> {};

TEST_P(TestsOfStateOffTheDevice, ReadParametersWhereTheyAre) {
  for (const int iter_size : {1, 2}) {
    SolverParameter param = WithTests(GetParam(), "keep", 2);
    param.set_iter_size(iter_size);
    const Outcome kept = Train(param);
    param.mutable_placement()->set_strategy("auto");
    const int64_t bytes = SmallestBytes(param);
    OpenSolver solver(Within(param, bytes));
    solver.mutable_placement_extra()->executor.poison = true;
    solver.Step(kIterations);
    EXPECT_LE(solver.planned_device_bytes(), bytes);
    const PlannedNet<float>& train = *solver.net()->planned();
    EXPECT_LT(train.plan().device_bytes, layrub::FloorBytes(train.graph()));
    const auto [away, copied] = ParametersAway(&solver);
    EXPECT_GT(away, 0);
    // A CPU reads them at home.
    EXPECT_EQ(copied > 0, Caffe::mode() == Caffe::GPU) << copied;
    EXPECT_TRUE(SameBits(TrainedState(&solver), kept.state));
    EXPECT_EQ(solver.test_scores(), kept.scores);
    // What users see is at home again after a test.
    for (const Blob<float>* parameter : solver.test_nets()[0]->learnable_params())
      EXPECT_TRUE(std::isfinite(parameter->cpu_data()[0]));
  }
}

INSTANTIATE_TEST_SUITE_P(Nets, TestsOfStateOffTheDevice,
                         ::testing::Values("lenet", "mini_alexnet", "shared_weights"),
                         [](const auto& test) { return test.param; });

TEST(PlannedTestNets, MayNeedMoreBytesThanTraining) {
  const SolverParameter param = WithTests("lenet", "hybrid", 2, 64);
  const Outcome apart = Train(param, true);
  const Outcome together = Train(Within(param, apart.own_bytes - 1), true);
  EXPECT_LT(together.bytes, apart.bytes);
  EXPECT_EQ(together.scores, apart.scores);
  EXPECT_TRUE(SameBits(together.state, apart.state));
}

TEST(PlannedTestNets, KeepAllBlobsReadableIfAllFits) {
  for (const std::string strategy : {"keep", "auto"}) {
    OpenSolver solver(WithTests("lenet", strategy, 1));
    solver.Step(2);
    Net<float>& net = *solver.test_nets()[0];
    EXPECT_EQ(net.planned()->plan().strategy, strategy);
    for (const auto& blob : net.blobs()) EXPECT_NE(blob->cpu_data(), nullptr);
  }
}

TEST(PlannedTestNets, AreNamedWhenTheyDoNotFit) {
  SolverParameter param = WithTests("lenet", "hybrid", 1, 512);
  OpenSolver free(WithTests("lenet", "hybrid", 1, 2));
  ASSERT_TRUE(free.Place().ok());
  for (const int64_t budget : {free.planned_device_bytes(), int64_t{4096}}) {
    OpenSolver solver(Within(param, budget));
    const layrub::Status status = solver.Place();
    EXPECT_EQ(status.code, layrub::Code::kDoesNotFit);
    EXPECT_NE(status.message.find("a test net needs"), std::string::npos) << status.message;
    const size_t flag = status.message.find("--device_memory=");
    ASSERT_NE(flag, std::string::npos) << status.message;
    OpenSolver enough(Within(param, std::atoll(status.message.c_str() + flag + 16)));
    EXPECT_TRUE(enough.Place().ok());
  }
}

TEST(PlannedTestNets, OverwriteValuesOfTheTrainNetIfTheyShareBytes) {
  const SolverParameter param = WithTests("lenet", "hybrid", 1000);
  OpenSolver free(param);
  ASSERT_TRUE(free.Place().ok());
  OpenSolver solver(Within(param, free.planned_device_bytes() - 1));
  ASSERT_TRUE(solver.Place().ok());
  solver.net()->Forward();
  const Blob<float>& loss = *solver.net()->output_blobs().back();
  EXPECT_TRUE(std::isfinite(loss.cpu_data()[0]));
  solver.test_nets()[0]->Forward();
  EXPECT_ERROR(loss.cpu_data(), "another net has run in its place");
  EXPECT_ERROR(solver.net()->Backward(), "needs a Forward");
  solver.net()->ForwardBackward();
  EXPECT_TRUE(std::isfinite(loss.cpu_data()[0]));
}

}  // namespace
}  // namespace caffe
