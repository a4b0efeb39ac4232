#include <sys/stat.h>
#include <unistd.h>

#include <cmath>

#include "caffe/planned_net.hpp"
#include "caffe/test/expect_error.hpp"
#include "solver_fixture.hpp"

namespace caffe {
namespace {

bool FileExists(const string& path) { return access(path.c_str(), F_OK) == 0; }

TEST(Solver, TrainsTheSameBitsUnderAPlan) {
  const auto keep = MakeSolver(ClassifierNet(),
                               "momentum: 0.9 weight_decay: 0.01 placement { strategy: 'keep' }");
  const auto hybrid = MakeSolver(
      ClassifierNet(), "momentum: 0.9 weight_decay: 0.01 placement { strategy: 'hybrid' }");
  // Both draw their data from this thread's stream.
  for (auto* solver : {keep.get(), hybrid.get()}) {
    Caffe::set_random_seed(11);
    solver->Step(5);
  }
  EXPECT_EQ(Bits(Parameters(keep.get())), Bits(Parameters(hybrid.get())));
  ASSERT_TRUE(hybrid->net()->planned());
  EXPECT_EQ("hybrid", hybrid->net()->planned()->plan().strategy);
  EXPECT_GT(hybrid->net()->planned()->executor().bytes_offloaded(), 0);
  EXPECT_LT(hybrid->net()->planned()->plan().device_bytes,
            keep->net()->planned()->plan().device_bytes);
}

TEST(Solver, PlacementOfTheSolverOverridesThatOfTheNet) {
  const string net = ClassifierNet() + "placement { strategy: 'hybrid' device_memory: '1GiB' }";
  const auto of_net = MakeSolver(net, "");
  ASSERT_TRUE(of_net->Place().ok());
  EXPECT_EQ("hybrid", of_net->net()->planned()->plan().strategy);
  const auto of_solver = MakeSolver(net, "placement { strategy: 'keep' }");
  ASSERT_TRUE(of_solver->Place().ok());
  EXPECT_EQ("keep", of_solver->net()->planned()->plan().strategy);
}

TEST(Solver, ReportsThatNoPlanFits) {
  const auto small =
      MakeSolver(ClassifierNet(), "placement { strategy: 'hybrid' device_memory: '1KiB' }");
  const layrub::Status status = small->Place();
  EXPECT_EQ(layrub::Code::kDoesNotFit, status.code);
  EXPECT_NE(string::npos, status.message.find("--device_memory=")) << status.message;
  const auto unknown = MakeSolver(ClassifierNet(), "placement { strategy: 'magic' }");
  EXPECT_EQ(layrub::Code::kInvalid, unknown->Place().code);
  EXPECT_ERROR(small->Step(1), "--device_memory=");
}

TEST(Solver, AccumulatesGradientsOfSeveralBatchesUnderAPlan) {
  vector<string> bits;
  for (const string strategy : {"keep", "hybrid"}) {
    const auto solver =
        MakeSolver(ClassifierNet(), "iter_size: 3 placement { strategy: '" + strategy + "' }");
    Caffe::set_random_seed(5);
    solver->Step(3);
    bits.push_back(Bits(Parameters(solver.get())));
  }
  EXPECT_EQ(bits[0], bits[1]);
}

TEST(Solver, RestoresAStateUnderAPlan) {
  const string prefix = NewFolder() + "/run";
  const auto solver = MakeSolver(LinearNet(), "momentum: 0.9 snapshot_prefix: '" + prefix +
                                                  "' placement { strategy: 'hybrid' }");
  solver->Step(2);
  solver->Snapshot();
  solver->Step(3);
  const string whole = Bits(Parameters(solver.get()));
  solver->Restore((prefix + "_iter_2.solverstate").c_str());
  EXPECT_NE(whole, Bits(Parameters(solver.get())));
  solver->Step(3);
  EXPECT_EQ(5, solver->iter());
  EXPECT_EQ(whole, Bits(Parameters(solver.get())));
}

/// Counts the calls of a solver.
class Counter : public Solver<float>::Callback {
 public:
  int starts = 0, gradients = 0, updates = 0;
  std::vector<std::pair<int, int>> batches;  ///< net and batch
  std::vector<int> tests;

 protected:
  void on_start() override { ++starts; }
  void on_gradients_ready() override { ++gradients; }
  void on_update_done() override { ++updates; }
  void on_test_batch(int net, int batch) override { batches.emplace_back(net, batch); }
  void on_test_done(int net) override { tests.push_back(net); }
};

TEST(Solver, CallsBackInEachIteration) {
  const auto solver = MakeSolver(LinearNet(), "iter_size: 2");
  Counter counter;
  solver->add_callback(&counter);
  solver->Step(3);
  EXPECT_EQ(3, counter.starts);
  EXPECT_EQ(3, counter.gradients);
  EXPECT_EQ(3, counter.updates);
}

TEST(Solver, CallsBackInEachTest) {
  const auto solver =
      MakeSolver(LinearNet(), "test_iter: 2 test_iter: 1 test_interval: 2 max_iter: 3");
  Counter counter;
  solver->add_callback(&counter);
  solver->Step(1);
  EXPECT_EQ((std::vector<std::pair<int, int>>{{0, 0}, {0, 1}, {1, 0}}), counter.batches);
  EXPECT_EQ((std::vector<int>{0, 1}), counter.tests);
}

TEST(Solver, ReportsLossAndLearningRateOfTheLastIteration) {
  const auto solver =
      MakeSolver(LinearNet(), "lr_policy: 'step' gamma: 0.5 stepsize: 1 average_loss: 2");
  EXPECT_TRUE(std::isnan(solver->loss()));
  EXPECT_TRUE(std::isnan(solver->learning_rate()));
  solver->Step(1);
  const float first = solver->loss();
  EXPECT_EQ(first, solver->smoothed_loss());
  EXPECT_EQ(solver->param().base_lr(), solver->learning_rate());
  solver->Step(2);
  EXPECT_EQ(solver->param().base_lr() / 4, solver->learning_rate());
  EXPECT_NE(first, solver->loss());
  EXPECT_NE(solver->loss(), solver->smoothed_loss());
}

TEST(Solver, StopsAndWritesSnapshotsWhenAsked) {
  const string prefix = NewFolder() + "/run";
  const auto solver = MakeSolver(
      LinearNet(), "max_iter: 10 snapshot_after_train: true snapshot_prefix: '" + prefix + "'");
  int asked = 0;
  solver->SetActionFunction([&asked] {
    ++asked;
    if (asked == 2) return SolverAction::SNAPSHOT;
    return asked == 4 ? SolverAction::STOP : SolverAction::NONE;
  });
  solver->Solve();
  EXPECT_EQ(4, solver->iter());
  for (const char* file :
       {"_iter_2.caffemodel", "_iter_2.solverstate", "_iter_4.caffemodel", "_iter_4.solverstate"}) {
    EXPECT_TRUE(FileExists(prefix + file)) << file;
  }
}

TEST(Solver, WritesSnapshotsAtItsInterval) {
  const string prefix = NewFolder() + "/run";
  const auto solver = MakeSolver(
      LinearNet(),
      "max_iter: 4 snapshot: 2 snapshot_after_train: true snapshot_prefix: '" + prefix + "'");
  solver->Solve();
  EXPECT_FALSE(FileExists(prefix + "_iter_1.caffemodel"));
  EXPECT_TRUE(FileExists(prefix + "_iter_2.caffemodel"));
  EXPECT_TRUE(FileExists(prefix + "_iter_4.caffemodel"));
}

TEST(SolverErrors, ChecksAtTheStartThatSnapshotsCanBeWritten) {
  const string prefix = NewFolder() + "/missing/run";
  EXPECT_ERROR(MakeSolver(LinearNet(), "snapshot: 5 snapshot_prefix: '" + prefix + "'"),
               "Cannot write to snapshot prefix '.*missing/run'");
  EXPECT_ERROR(MakeSolver(LinearNet(), "snapshot: 5"), "snapshot_prefix is not");
  EXPECT_ERROR(
      MakeSolver(LinearNet(), "snapshot_after_train: true snapshot_prefix: '" + prefix + "'")
          ->Solve(),
      "Cannot write to snapshot prefix");
}

TEST(Solver, TestsWithTheParametersOfTheTrainNet) {
  // The output of the linear net on two items: 3 weights + bias each.
  const auto solver =
      MakeSolver<double>(LinearNet(), "test_iter: 2 test_iter: 1 test_interval: 2 max_iter: 4");
  solver->Solve();
  ASSERT_EQ(2u, solver->test_nets().size());
  const vector<double> values = Parameters<double>(solver.get());
  ASSERT_EQ(2u, solver->test_scores().size());
  for (const auto& scores : solver->test_scores()) {
    ASSERT_EQ(2u, scores.size());
    EXPECT_EQ("ip", scores[0].first);
    EXPECT_NEAR(values[0] * 3 + values[3], scores[0].second, 1e-9);
    EXPECT_EQ(scores[0].second, scores[1].second);
  }
}

TEST(Solver, TestsDoNotChangeTraining) {
  vector<string> bits;
  for (const string tests : {"", "test_iter: 1 test_interval: 1"}) {
    const auto solver = MakeSolver(LinearNet(), "momentum: 0.9 " + tests);
    solver->Step(3);
    bits.push_back(Bits(Parameters(solver.get())));
  }
  EXPECT_EQ(bits[0], bits[1]);
}

TEST(SolverErrors, RejectsNegativeMaxIter) {
  EXPECT_ERROR(MakeSolver(LinearNet(), "max_iter: -5"), "max_iter is -5: .* at least 0");
}

TEST(SolverErrors, ListsTheKnownTypes) {
  SolverParameter param;
  param.set_type("SDG");
  EXPECT_ERROR(SolverRegistry<float>::CreateSolver(param),
               "Unknown solver type: SDG \\(known types: .*SGD");
  CHECK(google::protobuf::TextFormat::ParseFromString(LinearNet(), param.mutable_net_param()));
  param.set_type("SGD");
  const std::unique_ptr<Solver<float>> solver(SolverRegistry<float>::CreateSolver(param));
  EXPECT_STREQ("SGD", solver->type());
}

}  // namespace
}  // namespace caffe
