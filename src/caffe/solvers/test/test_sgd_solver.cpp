#include <cmath>

#include "caffe/solvers/learning_rate.hpp"
#include "caffe/test/expect_error.hpp"
#include "solver_fixture.hpp"

namespace caffe {
namespace {

/// The weight of the linear net after `steps` steps of the textbook rule.
struct Rule {
  double rate = 0.1, momentum = 0, decay = 0, gradient = kGradient;
  bool l1 = false;

  double After(int steps, double weight) const {
    double history = 0;
    for (int i = 0; i < steps; ++i) {
      const double penalty = l1 ? (weight > 0) - (weight < 0) : weight;
      history = momentum * history + rate * (gradient + decay * penalty);
      weight -= history;
    }
    return weight;
  }
};

void ExpectLinear(const string& fields, const Rule& rule, int steps = 4) {
  const auto solver = MakeSolver<double>(LinearNet(), fields);
  solver->Step(steps);
  const vector<double> values = Parameters<double>(solver.get());
  ASSERT_EQ(4u, values.size());
  for (int i = 0; i < 3; ++i) EXPECT_NEAR(rule.After(steps, kWeight), values[i], 1e-6) << fields;
  EXPECT_NEAR(rule.After(steps, kBias), values[3], 1e-6) << fields;
  EXPECT_EQ(steps, solver->iter());
}

TEST(SGDSolver, StepsAgainstTheGradient) { ExpectLinear("", {}); }
TEST(SGDSolver, AddsMomentum) { ExpectLinear("momentum: 0.9", {.momentum = 0.9}); }
TEST(SGDSolver, DecaysWeightsByL2) {
  ExpectLinear("momentum: 0.5 weight_decay: 0.3", {.momentum = 0.5, .decay = 0.3});
}
TEST(SGDSolver, DecaysWeightsByL1) {
  ExpectLinear("weight_decay: 0.3 regularization_type: 'L1'", {.decay = 0.3, .l1 = true});
}
TEST(SGDSolver, AveragesTheGradientsOfIterSizeBatches) {
  ExpectLinear("iter_size: 3 momentum: 0.9", {.momentum = 0.9});
}
TEST(SGDSolver, ClipsTheNormOfAllGradients) {
  // Four gradients of 2 have norm 4.
  ExpectLinear("clip_gradients: 1", {.gradient = 0.5});
  ExpectLinear("clip_gradients: 5", {});
}

TEST(SGDSolver, ScalesRateAndDecayByParameter) {
  const auto solver = MakeSolver<double>(
      LinearNet("param { lr_mult: 3 decay_mult: 0 } param { lr_mult: 0 decay_mult: 1 }"),
      "weight_decay: 0.2");
  solver->Step(2);
  const vector<double> values = Parameters<double>(solver.get());
  EXPECT_NEAR((Rule{.rate = 0.3}).After(2, kWeight), values[0], 1e-6);
  EXPECT_EQ(kBias, values[3]);
}

/// The rates of iterations 0, 1, 2, ... as the solver meets them.
vector<double> Rates(const string& fields, int iterations) {
  const auto solver = MakeSolver<double>(LinearNet(), "base_lr: 0.4 " + fields);
  vector<double> rates;
  for (int i = 0; i < iterations; ++i) {
    rates.push_back(solver->GetLearningRate());
    solver->Step(1);
  }
  return rates;
}

void ExpectRates(const string& fields, const std::function<double(int)>& expected) {
  const vector<double> rates = Rates(fields, 9);
  for (int i = 0; i < 9; ++i)
    EXPECT_NEAR(expected(i), rates[i], 1e-7) << fields << ", iteration " << i;
}

TEST(SGDSolver, FollowsEveryRatePolicy) {
  ExpectRates("lr_policy: 'fixed'", [](int) { return 0.4; });
  ExpectRates("lr_policy: 'step' gamma: 0.5 stepsize: 3",
              [](int i) { return 0.4 * std::pow(0.5, i / 3); });
  ExpectRates("lr_policy: 'exp' gamma: 0.5", [](int i) { return 0.4 * std::pow(0.5, i); });
  ExpectRates("lr_policy: 'inv' gamma: 0.25 power: 0.75",
              [](int i) { return 0.4 * std::pow(1 + 0.25 * i, -0.75); });
  ExpectRates("lr_policy: 'multistep' gamma: 0.5 stepvalue: 2 stepvalue: 5",
              [](int i) { return 0.4 * std::pow(0.5, (i >= 2) + (i >= 5)); });
  ExpectRates("lr_policy: 'poly' power: 2 max_iter: 20",
              [](int i) { return 0.4 * std::pow(1 - i / 20.0, 2); });
  ExpectRates("lr_policy: 'sigmoid' gamma: -0.5 stepsize: 4",
              [](int i) { return 0.4 / (1 + std::exp(0.5 * (i - 4))); });
}

TEST(SGDSolver, RampsTheRateUpWithTheFieldsOfTwoForks) {
  const auto expected = [](int i) {
    return i < 4 ? 0.1 + 0.3 * i / 4 : 0.4 * std::pow(0.5, i / 3);
  };
  const string step = "lr_policy: 'step' gamma: 0.5 stepsize: 3 ";
  ExpectRates(step + "rampup_interval: 4 rampup_lr: 0.1", expected);
  ExpectRates(step + "warmup_iter: 4 warmup_start_lr: 0.1", expected);
  ExpectRates("lr_policy: 'fixed' warmup_iter: 4", [](int i) { return 0.1 * std::min(i, 4); });
}

/// A net whose loss the test sets.
class LossNet {
 public:
  explicit LossNet(const string& fields)
      : solver_(MakeSolver<double>(
            "layer { name: 'in' type: 'Input' top: 'x' input_param { shape { dim: 1 } } }"
            "layer { name: 'loss' type: 'Reduction' bottom: 'x' top: 'loss' loss_weight: 1 }",
            "base_lr: 0.4 lr_policy: 'plateau' gamma: 0.5 " + fields)) {}
  double RateWithLoss(double loss) {
    solver_->net()->blob_by_name("x")->mutable_cpu_data()[0] = loss;
    solver_->Step(1);
    return solver_->GetLearningRate();
  }

 private:
  std::unique_ptr<SGDSolver<double>> solver_;
};

TEST(SGDSolver, LowersTheRateOnAPlateauOfTheLoss) {
  LossNet net("plateau_winsize: 3 plateau_winsize: 2");
  const std::pair<double, double> rates_by_loss[] = {
      {9, 0.4}, {8, 0.4}, {8, 0.4}, {9, 0.4},  // the lowest loss is two iterations old
      {7, 0.4},                                // a new lowest loss
      {7, 0.4}, {8, 0.4}, {7, 0.2},            // three iterations after it
      {8, 0.2}, {8, 0.1},                      // two more
      {8, 0.1}, {8, 0.1}, {8, 0.1}};           // there are no more steps
  for (const auto& [loss, rate] : rates_by_loss) EXPECT_FLOAT_EQ(rate, net.RateWithLoss(loss));
}

TEST(SGDSolverErrors, RejectsInvalidRates) {
  const auto fails = [](const string& fields, const char* why) {
    EXPECT_ERROR(MakeSolver(LinearNet(), fields)->Step(1), why);
  };
  fails("lr_policy: 'plateau' gamma: 0.5", "needs a gamma, and a plateau_winsize");
  fails("lr_policy: 'plateau' plateau_winsize: 3", "needs a gamma, and a plateau_winsize");
  fails("lr_policy: 'plateau' gamma: 0.5 plateau_winsize: 0", "plateau_winsize must be positive");
  fails("rampup_interval: 2 warmup_iter: 2", "mean the same: set only one of them");
  fails("rampup_interval: -2", "rampup_interval must not be negative; it is -2");
  fails("warmup_start_lr: 0.1", "warmup_start_lr needs a warmup_iter");
  fails("rampup_lr: 0.1", "rampup_lr needs a rampup_interval");
}

TEST(SGDSolver, WarnsOfSuspiciousRateSettings) {
  EXPECT_EQ(RateWarning(SolverParameter()),
            "base_lr is not set and counts as 0: nothing is learned.");
  EXPECT_EQ(RateWarning(ParseSolver("base_lr: 0 lr_policy: 'fixed'")),
            "base_lr is 0: nothing is learned.");
  EXPECT_NE(RateWarning(ParseSolver("base_lr: -0.1 lr_policy: 'fixed'")).find("below 0"),
            string::npos);
  const auto warning = [](const string& fields) {
    return RateWarning(ParseSolver("base_lr: 0.1 " + fields));
  };
  for (const char* fine :
       {"lr_policy: 'fixed'", "lr_policy: 'step' gamma: 0.1 stepsize: 5",
        "lr_policy: 'multistep' gamma: 0.1 stepvalue: [2, 5]", "lr_policy: 'poly' power: 1",
        "lr_policy: 'inv' gamma: 0.1 power: 0.75", "lr_policy: 'exp' gamma: 0"})
    EXPECT_EQ(warning(fine), "");
  for (const string policy : {"step", "exp", "multistep"}) {
    EXPECT_EQ(warning("lr_policy: '" + policy + "'"),
              "lr_policy \"" + policy +
                  "\" has no gamma, which counts as 0: the learning rate "
                  "becomes 0 with the first step.");
  }
  for (const string policy : {"inv", "sigmoid"}) {
    EXPECT_NE(warning("lr_policy: '" + policy + "' power: 1").find("has no gamma"), string::npos);
  }
  EXPECT_NE(warning("lr_policy: 'inv' gamma: 1").find("has no power"), string::npos);
  EXPECT_NE(warning("lr_policy: 'poly'").find("the learning rate never changes"), string::npos);
  const string steps = "lr_policy: 'multistep' gamma: 0.1 ";
  EXPECT_NE(warning(steps).find("has no stepvalue"), string::npos);
  EXPECT_EQ(warning(steps + "stepvalue: [1000, 500]"),
            "stepvalue: 500 is listed after 1000 and takes effect only from that iteration on.");
}

TEST(SGDSolverErrors, NamesUnknownPoliciesAndTypes) {
  EXPECT_ERROR(MakeSolver(LinearNet(), "lr_policy: 'linear'")->Step(1),
               "Unknown learning rate policy.*linear");
  EXPECT_ERROR(MakeSolver(LinearNet(), "weight_decay: 1 regularization_type: 'L3'")->Step(1),
               "Unknown regularization type.*L3");
  EXPECT_ERROR(MakeSolver(LinearNet(), "lr_policy: 'step' gamma: 1")->Step(1), "stepsize");
}

TEST(SGDSolver, AllocatesNoWorkspaceOfSubclasses) {
  class Open : public SGDSolver<float> {
   public:
    using SGDSolver<float>::SGDSolver;
    using SGDSolver<float>::temp_;
    using SGDSolver<float>::update_;
  };
  SolverParameter param =
      ParseSolver("base_lr: 0.1 lr_policy: 'fixed' momentum: 0.9 weight_decay: 0.1");
  CHECK(google::protobuf::TextFormat::ParseFromString(LinearNet(), param.mutable_net_param()));
  Open solver(param);
  solver.Step(2);
  for (const auto& blob : solver.update_)
    EXPECT_EQ(SyncedMemory::UNINITIALIZED, blob->data()->head());
  for (const auto& blob : solver.temp_)
    EXPECT_EQ(SyncedMemory::UNINITIALIZED, blob->data()->head());
}

/// Trains 6 iterations in one go, and 3 + 3 with a snapshot between, on data that does not change.
void ExpectResumes(const string& format, const string& extension) {
  const string fields =
      "momentum: 0.9 weight_decay: 0.01 lr_policy: 'step' gamma: 0.5 stepsize: 2 snapshot_prefix: "
      "'" +
      NewFolder() + "/run' snapshot_format: " + format;
  const auto whole = MakeSolver(LinearNet(), fields);
  whole->Step(6);
  const auto first = MakeSolver(LinearNet(), fields);
  first->Step(3);
  first->Snapshot();
  const auto second = MakeSolver(LinearNet(), fields);
  second->Restore((first->param().snapshot_prefix() + "_iter_3.solverstate" + extension).c_str());
  EXPECT_EQ(3, second->iter());
  second->Step(3);
  EXPECT_EQ(6, second->iter());
  EXPECT_EQ(Bits(Parameters(whole.get())), Bits(Parameters(second.get())));
}

TEST(SGDSolver, ResumesFromABinarySnapshot) { ExpectResumes("BINARYPROTO", ""); }
#ifdef USE_HDF5
TEST(SGDSolver, ResumesFromAnHDF5Snapshot) { ExpectResumes("HDF5", ".h5"); }
#endif

TEST(SGDSolverErrors, RejectsFilesThatAreNotStatesOfThisNet) {
  const string prefix = NewFolder() + "/run";
  const auto solver = MakeSolver(LinearNet(), "snapshot_prefix: '" + prefix + "'");
  solver->Snapshot();
  EXPECT_ERROR(solver->Restore((prefix + "_iter_0.caffemodel").c_str()),
               "it holds weights only.*--weights");
  const auto other = MakeSolver(ClassifierNet(), "");
  EXPECT_ERROR(other->Restore((prefix + "_iter_0.solverstate").c_str()),
               "written by another solver or net");
  EXPECT_ERROR(solver->Restore((prefix + "_iter_9.solverstate").c_str()), "run_iter_9.solverstate");
}

}  // namespace
}  // namespace caffe
