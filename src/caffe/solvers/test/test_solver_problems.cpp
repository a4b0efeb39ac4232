// Messages about solvers that cannot train.
#include <gmock/gmock.h>

#include <fstream>

#include "caffe/error.hpp"
#include "caffe/solver_check.hpp"
#include "caffe/solver_nets.hpp"
#include "caffe/test/warnings.hpp"
#include "caffe/util/origins.hpp"
#include "caffe/util/upgrade_proto.hpp"
#include "solver_fixture.hpp"

namespace caffe {
namespace {

/// Returns the message of the error that ends `work`, or "".
template <typename Work>
string Said(const Work& work) {
  try {
    work();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

/// The net is an existing file that nobody reads.
class SolverProblems : public testing::Test {
 protected:
  SolverProblems() : net_("net: '" + folder_ + "/solver.prototxt'\n") {
    Caffe::set_throw_on_error(true);
  }
  ~SolverProblems() override { Caffe::set_throw_on_error(false); }

  SolverParameter Read(const string& text) const {
    std::ofstream(path_) << text;
    SolverParameter param;
    ReadSolverParamsFromTextFileOrDie(path_, &param);
    return param;
  }

  /// Returns the problems, or "". The file's name is removed.
  string Told(const string& text) const {
    string told = Said([&] { CheckSolver(Read(text)); });
    for (size_t at = 0; (at = told.find(path_, at)) != string::npos;) told.erase(at, path_.size());
    return told;
  }

  const string folder_ = NewFolder();
  const string path_ = folder_ + "/solver.prototxt";
  const string net_;
};

TEST_F(SolverProblems, AreEmptyForAValidSolver) {
  EXPECT_EQ("", Told(net_ + "base_lr: 1 lr_policy: 'fixed'"));
  EXPECT_EQ("", Told(net_ + "lr_policy: 'step' stepsize: 1 test_iter: 1 test_interval: 1"));
}

TEST_F(SolverProblems, HaveFileAndLine) {
  EXPECT_THAT(Told(net_ + "lr_policy: 'fixed'\n\niter_size: 0"),
              testing::StartsWith(":4: iter_size should be at least 1."));
  EXPECT_THAT(Told(net_ + "\n  lr_policy: 'stepp'"),
              testing::StartsWith(":3: Unknown learning rate policy: \"stepp\"; did you mean "
                                  "\"step\"? (lr_policy may be fixed, step, exp, inv, multistep, "
                                  "plateau, poly or sigmoid)"));
  EXPECT_THAT(Told(net_ + "lr_policy: 'fixed'\ntype: 'Adm'"),
              testing::StartsWith(":3: Unknown solver type: Adm; did you mean \"Adam\"? (known "
                                  "types: AdaDelta, "));
}

TEST_F(SolverProblems, OfMissingFieldsNameTheFile) {
  EXPECT_THAT(Told(net_), testing::StartsWith(": lr_policy is not set; it may be fixed, step,"));
  EXPECT_THAT(Told(net_ + "lr_policy: 'step'"),
              testing::StartsWith(": lr_policy \"step\" needs a positive stepsize."));
  EXPECT_THAT(Told("lr_policy: 'fixed'"),
              testing::StartsWith(": SolverParameter must specify a train net"));
}

TEST_F(SolverProblems, AreListedTogetherInFileOrder) {
  EXPECT_THAT(
      Told(
          "weight_decay: 1\nregularization_type: 'L3'\nnet: '/none/net.prototxt'\ntype: 'AdaGrad'\n"
          "momentum: 0.9\nlr_policy: 'fixed'\ntest_iter: 1\n"),
      testing::StartsWith(
          "The solver has 4 problems:\n"
          ": test_interval must be set where there are test nets.\n"
          ":2: Unknown regularization type: \"L3\" (regularization_type may be L1 or L2)\n"
          ":3: File not found: /none/net.prototxt\n"
          ":5: Momentum cannot be used with AdaGrad: leave it out of the solver."));
}

TEST_F(SolverProblems, OfTestNetsConcernOnlyExistingTestNets) {
  EXPECT_THAT(Told("train_net: '" + path_ + "'\nlr_policy: 'fixed'\ntest_iter: 1"),
              testing::AllOf(testing::StartsWith(":3: test_iter must be specified"),
                             testing::Not(testing::HasSubstr("test_interval"))));
}

TEST_F(SolverProblems, OfThePlacementHaveItsLine) {
  const string text = net_ + "lr_policy: 'fixed'\nplacement { ";
  EXPECT_THAT(Told(text + "device_memory: '-1' }"),
              testing::StartsWith(":3: placement: device_memory: "));
  EXPECT_THAT(Told(text + "strategy: 'hybird' }"), testing::StartsWith(":3: placement: "));
  const string net = folder_ + "/net.prototxt";
  std::ofstream(net) << "placement { host_memory: 'much' } layer { name: 'x' type: 'Silence' }";
  EXPECT_THAT(Said([&] { TrainNetOf(Read("net: '" + net + "'")); }),
              testing::StartsWith(net + ": placement: host_memory: "));
}

TEST_F(SolverProblems, ThatDoNotPreventTrainingAreWarnings) {
  const Warnings warnings;
  EXPECT_EQ("", Told(net_ + "lr_policy: 'fixed'\nweight_decay: -1\nmomentum: 2\nbase_lr: nan"));
  ASSERT_EQ(warnings.lines.size(), 3u);
  EXPECT_THAT(warnings.lines[0], testing::StartsWith(path_ + ":3: weight_decay is -1: "));
  EXPECT_THAT(warnings.lines[1], testing::StartsWith(path_ + ":4: momentum is 2: "));
  EXPECT_THAT(warnings.lines[2], testing::StartsWith(path_ + ":5: base_lr is nan: "));
}

TEST_F(SolverProblems, OfInvalidNumbersAreWarningsIfTheTypeUsesThem) {
  const Warnings warnings;
  const string bad =
      "lr_policy: 'fixed'\nweight_decay: inf\nclip_gradients: nan\ndelta: -1\nmomentum2: 1\n";
  EXPECT_EQ("", Told(net_ + bad + "type: 'SGD'"));
  ASSERT_EQ(warnings.lines.size(), 2u);
  EXPECT_THAT(warnings.lines[0], testing::StartsWith(path_ + ":3: weight_decay is inf: "));
  EXPECT_THAT(warnings.lines[1], testing::StartsWith(path_ + ":4: clip_gradients is nan: "));
  EXPECT_EQ("", Told(net_ + bad + "type: 'Adam'"));
  ASSERT_EQ(warnings.lines.size(), 6u);
  EXPECT_THAT(warnings.lines[4], testing::StartsWith(path_ + ":5: delta is -1: "));
  EXPECT_THAT(warnings.lines[5], testing::StartsWith(path_ + ":6: momentum2 is 1: "));
  EXPECT_EQ("", Told(net_ + bad + "type: 'AdaGrad'"));
  EXPECT_EQ(warnings.lines.size(), 9u);
}

TEST_F(SolverProblems, OfASolverMadeInCodeAreSentences) {
  SolverParameter param = ParseSolver("lr_policy: 'fixed' net_param { } max_iter: -1");
  EXPECT_THAT(Said([&] { CheckSolver(param); }), testing::StartsWith("max_iter is -1: the number"));
}

TEST_F(SolverProblems, AreTheSameInConstructorsAndSteps) {
  const string net = "net_param { " + LinearNet() + "}\nlr_policy: 'linear'\n";
  const int line = 1 + static_cast<int>(std::count(net.begin(), net.end(), '\n'));
  const SolverParameter param = Read(net + "average_loss: 0");
  EXPECT_THAT(Said([&] { SGDSolver<float> solver(param); }),
              testing::StartsWith(path_ + ":" + std::to_string(line) + ": average_loss should"));
  SGDSolver<float> solver(Read(net));
  EXPECT_THAT(Said([&] { solver.Step(1); }),
              testing::StartsWith(path_ + ":" + std::to_string(line - 1) +
                                  ": Unknown learning rate policy: \"linear\""));
}

TEST_F(SolverProblems, LeaveNoOriginsInPrintedParameters) {
  const SolverParameter param = Read("base_lr: 1");
  EXPECT_EQ(path_, param.origin().file());
  EXPECT_EQ(1, param.origin().line().at("base_lr"));
  EXPECT_FALSE(WithoutOrigins(param).has_origin());
}

}  // namespace
}  // namespace caffe
