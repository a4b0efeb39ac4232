// Several solvers on parts of the data train the same as one solver on all of it.
#include <algorithm>
#include <map>

#include "caffe/layer_factory.hpp"
#include "caffe/net/test/tight_training.hpp"
#include "caffe/test/expect_error.hpp"
#include "layrub/placement/strategies/strategy.hpp"
#include "parallel_training.hpp"

namespace caffe {
namespace {

constexpr int kIterations = 6;

void ExpectClose(const std::vector<float>& a, const std::vector<float>& b) {
  ASSERT_EQ(a.size(), b.size());
  float largest = 0;
  for (float value : b) largest = std::max(largest, std::abs(value));
  for (size_t i = 0; i < a.size(); ++i) ASSERT_NEAR(a[i], b[i], 1e-5f * largest) << i;
}

SolverParameter WholePass(SolverParameter param) {
  param.set_layer_wise_reduce(false);
  return param;
}

class ParallelSolversOf : public ::testing::TestWithParam<int> {};

TEST_P(ParallelSolversOf, LearnTheSameAsOneSolverWithTheCombinedBatch) {
  const Items items;
  const int solvers = GetParam();
  const std::vector<float> one = TrainTogether(SolverFor(items.Net(4 * solvers)), 1, kIterations);
  const SolverParameter param = SolverFor(items.Net(4));
  const std::vector<float> several = TrainTogether(param, solvers, kIterations);
  EXPECT_TRUE(AllFinite(several));
  ExpectClose(several, one);
  EXPECT_FALSE(SameBits(TrainTogether(param, 1, kIterations), one));
  EXPECT_TRUE(SameBits(TrainTogether(WholePass(param), solvers, kIterations), several));
}

TEST_P(ParallelSolversOf, GiveTheSameBitsInEachRun) {
  const SolverParameter param = SolverFor(ReadNet("lenet"));
  const std::vector<float> first = TrainTogether(param, GetParam(), kIterations);
  EXPECT_TRUE(SameBits(TrainTogether(param, GetParam(), kIterations), first));
}

INSTANTIATE_TEST_SUITE_P(Solvers, ParallelSolversOf, ::testing::Values(2, 3, 4));

TEST(ParallelSolvers, SumAfterTheLastPassOfIterSize) {
  const Items items;
  SolverParameter one = SolverFor(items.Net(8)), two = SolverFor(items.Net(4));
  one.set_iter_size(3);
  two.set_iter_size(3);
  const std::vector<float> several = TrainTogether(two, 2, kIterations);
  ExpectClose(several, TrainTogether(one, 1, kIterations));
  EXPECT_TRUE(SameBits(TrainTogether(WholePass(two), 2, kIterations), several));
}

TEST(ParallelSolvers, ClipTheGradientOfTheCombinedBatch) {
  const Items items;
  SolverParameter one = SolverFor(items.Net(8)), two = SolverFor(items.Net(4));
  one.set_clip_gradients(0.1f);
  two.set_clip_gradients(0.1f);
  ExpectClose(TrainTogether(two, 2, kIterations), TrainTogether(one, 1, kIterations));
}

/// Trains with `solvers` Adam solvers and returns what each of them has learned.
std::vector<float> LearnByAdam(const NetParameter& net, int solvers) {
  SolverParameter param = SolverFor(net);
  param.set_type("Adam");
  param.set_delta(1e-3f);
  const SolverCount count(solvers);
  AdamSolver<float> root(param);
  ParallelSolvers<float> all(&root, Threads(solvers));
  const layrub::Status status = all.Start();
  EXPECT_TRUE(status.ok()) << status.message;
  root.Step(kIterations);
  all.Finish();
  for (int rank = 1; rank < solvers; ++rank) {
    EXPECT_STREQ(all.solver(rank)->type(), "Adam");
    EXPECT_EQ(all.solver(rank)->histories(), 2);
    EXPECT_TRUE(SameBits(Learned(all.solver(rank)), Learned(&root))) << "solver " << rank;
  }
  return Learned(&root);
}

TEST(ParallelSolvers, WithAdamLearnTheSameAsOneSolverWithTheCombinedBatch) {
  const Items items;
  ExpectClose(LearnByAdam(items.Net(4), 2), LearnByAdam(items.Net(8), 1));
}

class ParallelSolversUnder : public ::testing::TestWithParam<std::tuple<std::string, std::string>> {
};

TEST_P(ParallelSolversUnder, TheSmallestBudgetGiveTheBitsOfKeep) {
  constexpr int kFew = 3;
  const auto& [net, strategy] = GetParam();
  static std::map<std::string, std::vector<float>> kept;  // by net
  if (kept.count(net) == 0)
    kept[net] = TrainTogether(WholePass(SolverFor(ReadNet(net), "keep")), 2, kFew);
  const bool offload_state = Caffe::mode() == Caffe::CPU;  // GPUs sum in their own memory
  const SolverParameter param =
      WithinSmallestBudget(SolverFor(ReadNet(net), strategy), {.offload_state = offload_state});
  EXPECT_TRUE(SameBits(TrainTogether(param, 2, kFew), kept[net]));
}

const auto name_of = [](const auto& test) {
  return std::get<0>(test.param) + "_" + std::get<1>(test.param);
};
INSTANTIATE_TEST_SUITE_P(EveryStrategy, ParallelSolversUnder,
                         ::testing::Combine(::testing::Values("shared_weights"),
                                            ::testing::ValuesIn(layrub::StrategyNames())),
                         name_of);
INSTANTIATE_TEST_SUITE_P(OtherNets, ParallelSolversUnder,
                         ::testing::Combine(::testing::Values("mini_resnet", "recurrent"),
                                            ::testing::Values("hybrid", "superneurons")),
                         name_of);

TEST(ParallelSolvers, EachHaveTheirOwnPlan) {
  const SolverCount count(2);
  OpenSolver root(SolverFor(ReadNet("lenet"), "hybrid"));
  ParallelSolvers<float> all(&root, Threads(2));
  ASSERT_TRUE(all.Start().ok());
  root.Step(2);
  all.Finish();
  for (int rank = 0; rank < 2; ++rank)
    EXPECT_GT(all.solver(rank)->net()->planned()->executor().bytes_offloaded(), 0) << rank;
  EXPECT_NE(all.solver(0)->net()->planned(), all.solver(1)->net()->planned());
}

TEST(ParallelSolvers, NameTheSolverThatDoesNotFit) {
  const SolverCount count(2);
  SolverParameter param = SolverFor(ReadNet("lenet"), "hybrid");
  param.mutable_placement()->set_device_memory("1KiB");
  OpenSolver root(param);
  ParallelSolvers<float> all(&root, Threads(2));
  const layrub::Status status = all.Start();
  EXPECT_EQ(status.code, layrub::Code::kDoesNotFit);
  EXPECT_EQ(status.message.find("solver 1 of 2"), 0u) << status.message;
}

TEST(ParallelSolvers, RequireTheSolverCountBeforeTheRootIsMade) {
  OpenSolver root(SolverFor(ReadNet("lenet")));
  EXPECT_ERROR(ParallelSolvers<float>(&root, Threads(2)), "set_solver_count");
}

TEST(ParallelSolvers, EndWithTheRootWhenItIsStopped) {
  const SolverCount count(3);
  OpenSolver root(SolverFor(ReadNet("lenet")));
  ParallelSolvers<float> all(&root, Threads(3));
  ASSERT_TRUE(all.Start().ok());
  root.SetActionFunction(
      [&] { return root.iter() == 4 ? SolverAction::STOP : SolverAction::NONE; });
  root.Solve();
  all.Finish();
  for (int rank = 0; rank < 3; ++rank) EXPECT_EQ(all.solver(rank)->iter(), 4);
}

TEST(ParallelSolvers, EndWhenTheRootIsStoppedInItsFirstTest) {
  const SolverCount count(2);
  SolverParameter param = SolverFor(ReadNet("lenet"));
  param.mutable_net_param()->mutable_state()->clear_phase();
  param.add_test_iter(1);
  param.set_test_interval(3);
  OpenSolver root(param);
  ParallelSolvers<float> all(&root, Threads(2));
  ASSERT_TRUE(all.Start().ok());
  bool asked = false;
  root.SetActionFunction([&] {
    const bool first = !asked;
    asked = true;
    return first ? SolverAction::STOP : SolverAction::NONE;
  });
  root.Solve();
  all.Finish();
  EXPECT_EQ(all.solver(1)->iter(), 0);
  EXPECT_TRUE(all.solver(1)->test_nets().empty());
}

TEST(ParallelSolvers, ResumeTogetherFromASnapshot) {
  SolverParameter param = SolverFor(ReadNet("lenet"));
  param.set_snapshot_prefix(::testing::TempDir() + "parallel_" + std::to_string(getpid()));
  param.set_snapshot_format(SolverParameter_SnapshotFormat_BINARYPROTO);
  {
    const SolverCount count(2);
    OpenSolver root(param);
    ParallelSolvers<float> all(&root, Threads(2));
    ASSERT_TRUE(all.Start().ok());
    root.Step(3);
    root.Snapshot();
    all.Finish();
  }
  const std::string state = param.snapshot_prefix() + "_iter_3.solverstate";
  const auto resume = [&] {
    const SolverCount count(2);
    OpenSolver root(param);
    root.Restore(state.c_str());
    ParallelSolvers<float> all(&root, Threads(2));
    EXPECT_TRUE(all.Start(state).ok());
    root.Step(3);
    all.Finish();
    EXPECT_EQ(all.solver(1)->iter(), 6);
    EXPECT_TRUE(SameBits(Learned(all.solver(1)), Learned(&root)));
    return TrainedState(&root);
  };
  EXPECT_TRUE(SameBits(resume(), resume()));
  for (const char* end : {"_iter_3.solverstate", "_iter_3.caffemodel"})
    std::filesystem::remove(param.snapshot_prefix() + end);
}

/// Throws in the third forward pass of the solver whose rank is its layer's `loss_weight`.
template <typename Dtype>
class FaultyLayer : public Layer<Dtype> {
 public:
  explicit FaultyLayer(const LayerParameter& param) : Layer<Dtype>(param) {}
  void Reshape(const vector<Blob<Dtype>*>& /*bottom*/, const vector<Blob<Dtype>*>& top) override {
    top[0]->Reshape({1});
  }

 protected:
  void Forward_cpu(const vector<Blob<Dtype>*>& /*bottom*/,
                   const vector<Blob<Dtype>*>& top) override {
    top[0]->mutable_cpu_data()[0] = 0;
    const bool faulty = this->layer_param_.loss_weight(0) == Caffe::solver_rank();
    if (faulty && ++passes_ == 3) throw std::runtime_error("the paper is wet");
  }
  void Backward_cpu(const vector<Blob<Dtype>*>& /*top*/, const vector<bool>& /*propagate_down*/,
                    const vector<Blob<Dtype>*>& /*bottom*/) override {}

 private:
  int passes_ = 0;
};
REGISTER_LAYER_CLASS(Faulty);

SolverParameter FaultyIn(int rank) {
  NetParameter net = ReadNet("lenet");
  net.MergeFrom(ParseNet("layer { name: 'faulty' type: 'Faulty' top: 'nothing' loss_weight: " +
                         std::to_string(rank) + " }"));
  return SolverFor(net);
}

TEST(ParallelSolvers, EndWithTheErrorOfAFollower) {
  const SolverCount count(3);
  OpenSolver root(FaultyIn(2));
  ParallelSolvers<float> all(&root, Threads(3));
  ASSERT_TRUE(all.Start().ok());
  try {
    root.Step(5);
    ADD_FAILURE();
  } catch (const layrub::GroupFailed& failure) {
    const std::string reason = failure.what();
    EXPECT_EQ(reason.find("solver 2 of 3"), 0u) << reason;
    EXPECT_NE(reason.find(": the paper is wet"), std::string::npos) << reason;
  }
  EXPECT_EQ(root.iter(), 2);
}

TEST(ParallelSolvers, EndWithTheErrorOfTheRoot) {
  const SolverCount count(3);
  OpenSolver root(FaultyIn(0));
  ParallelSolvers<float> all(&root, Threads(3));
  ASSERT_TRUE(all.Start().ok());
  EXPECT_THROW(root.Step(5), std::runtime_error);
}

}  // namespace
}  // namespace caffe
