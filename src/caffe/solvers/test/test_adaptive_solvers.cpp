// Every solver type against the formulas of its paper, in double precision.
#include <array>
#include <boost/algorithm/string.hpp>
#include <cmath>

#include "caffe/test/expect_error.hpp"
#include "caffe/util/upgrade_proto.hpp"
#include "solver_fixture.hpp"

namespace caffe {
namespace {

constexpr int kWeights = 4;  // three weights and a bias
using Weights = std::array<double, kWeights>;
const Weights kInputs = {1, 0.5, -2, 1}, kFirst = {0.5, 0.5, 0.5, -0.25};
constexpr double kTarget = 3, kBiasRate = 2;

/// Least squares with one neuron and two equal items, so that the derivative is the residual times
/// the input. The bias learns twice as fast and does not decay.
string LeastSquaresNet() {
  string net, columns;
  for (int i = 0; i < kWeights - 1; ++i) {
    const string name = "x" + std::to_string(i);
    net += "layer { name: '" + name + "' type: 'DummyData' top: '" + name +
           "' dummy_data_param { shape { dim: 2 dim: 1 } data_filler { value: " +
           std::to_string(kInputs[i]) + " } } } ";
    columns += "bottom: '" + name + "' ";
  }
  return net + "layer { name: 'x' type: 'Concat' " + columns + R"( top: 'x' }
    layer {
      name: 't' type: 'DummyData' top: 't'
      dummy_data_param { shape { dim: 2 dim: 1 } data_filler { value: 3 } }
    }
    layer {
      name: 'ip' type: 'InnerProduct' bottom: 'x' top: 'ip'
      param { lr_mult: 1 } param { lr_mult: 2 decay_mult: 0 }
      inner_product_param {
        num_output: 1
        weight_filler { type: 'constant' value: 0.5 }
        bias_filler { type: 'constant' value: -0.25 }
      }
    }
    layer { name: 'loss' type: 'EuclideanLoss' bottom: 'ip' bottom: 't' top: 'loss' })";
}

/// Returns the decrease of a weight in step `t` (from 1) by the type's formula. `a` and `b` are its
/// history.
double Step(const SolverParameter& p, int t, double rate, double g, double* a, double* b) {
  const double momentum = p.momentum(), momentum2 = p.momentum2(), delta = p.delta();
  const double before = *a;
  if (p.type() == "SGD" || p.type() == "Nesterov") {
    *a = momentum * before + rate * g;
    return p.type() == "SGD" ? *a : *a + momentum * (*a - before);
  }
  if (p.type() == "AdaGrad") {
    *a += g * g;
    return rate * g / (std::sqrt(*a) + delta);
  }
  if (p.type() == "RMSProp") {
    *a = p.rms_decay() * before + (1.0 - p.rms_decay()) * g * g;
    return rate * g / (std::sqrt(*a) + delta);
  }
  if (p.type() == "AdaDelta") {
    *a = momentum * before + (1 - momentum) * g * g;
    const double step = std::sqrt(*b + delta) / std::sqrt(*a + delta) * g;
    *b = momentum * *b + (1 - momentum) * step * step;
    return rate * step;
  }
  CHECK_EQ(p.type(), "Adam");
  *a = momentum * before + (1 - momentum) * g;
  *b = momentum2 * *b + (1 - momentum2) * g * g;
  const double unbiased = *a / (1 - std::pow(momentum, t));
  const double unbiased2 = *b / (1 - std::pow(momentum2, t));
  return rate * unbiased / (std::sqrt(unbiased2) + delta / std::sqrt(1 - std::pow(momentum2, t)));
}

/// The weights after `steps` steps.
Weights Reference(const SolverParameter& p, int steps) {
  Weights weights = kFirst, first{}, second{};
  for (int t = 1; t <= steps; ++t) {
    double residual = -kTarget, squares = 0;
    for (int i = 0; i < kWeights; ++i) residual += weights[i] * kInputs[i];
    for (double input : kInputs) squares += residual * input * residual * input;
    const double norm = std::sqrt(squares), limit = p.clip_gradients();
    const double clip = limit >= 0 && norm > limit ? limit / norm : 1;
    const double rate =
        p.base_lr() * (p.lr_policy() == "inv" ? std::pow(1 + p.gamma() * (t - 1), -p.power()) : 1);
    for (int i = 0; i < kWeights; ++i) {
      const bool bias = i + 1 == kWeights, l1 = p.regularization_type() == "L1";
      const double penalty = l1 ? (weights[i] > 0) - (weights[i] < 0) : weights[i];
      const double g = clip * residual * kInputs[i] + (bias ? 0 : p.weight_decay() * penalty);
      weights[i] -= Step(p, t, bias ? rate * kBiasRate : rate, g, &first[i], &second[i]);
    }
  }
  return weights;
}

class EverySolver : public ::testing::TestWithParam<string> {
 protected:
  static void ExpectReference(const string& fields) {
    constexpr int kSteps = 6;
    const auto solver = MakeSolver<double>(LeastSquaresNet(), fields);
    solver->Step(kSteps);
    const vector<double> values = Parameters<double>(solver.get());
    const Weights expected = Reference(solver->param(), kSteps);
    ASSERT_EQ(values.size(), expected.size());
    for (int i = 0; i < kWeights; ++i) {
      EXPECT_NEAR(values[i], expected[i], 1e-6) << fields << ", weight " << i;
      EXPECT_GT(std::abs(values[i] - kFirst[i]), 1e-4) << fields << ", weight " << i;
    }
  }
};

TEST_P(EverySolver, FollowsItsFormula) { ExpectReference(GetParam()); }
TEST_P(EverySolver, DecaysWeights) {
  ExpectReference(GetParam() + " weight_decay: 0.3");
  ExpectReference(GetParam() + " weight_decay: 0.3 regularization_type: 'L1'");
}
TEST_P(EverySolver, AveragesTheGradientsOfIterSizeBatches) {
  ExpectReference(GetParam() + " iter_size: 3");
}
TEST_P(EverySolver, ClipsTheNormOfAllGradients) {
  ExpectReference(GetParam() + " clip_gradients: 0.5");
}
TEST_P(EverySolver, UsesTheRateOfTheIteration) {
  ExpectReference(GetParam() + " lr_policy: 'inv' gamma: 0.5 power: 0.75");
}

TEST_P(EverySolver, ConvergesToTheLeastSquaresSolution) {
  const auto solver = MakeSolver<double>(LeastSquaresNet(), GetParam());
  const double first = solver->net()->ForwardBackward();
  solver->Step(200);
  EXPECT_LT(solver->net()->ForwardBackward(), 0.1 * first);
}

TEST_P(EverySolver, IsKnownByTypeAndOldSolverType) {
  const auto solver = MakeSolver(LeastSquaresNet(), GetParam());
  EXPECT_EQ(solver->type(), solver->param().type());
  SolverParameter old = ParseSolver("solver_type: " + boost::to_upper_copy(solver->param().type()));
  ASSERT_TRUE(UpgradeSolverAsNeeded("solver.prototxt", &old));
  EXPECT_EQ(old.type(), solver->type());
}

INSTANTIATE_TEST_SUITE_P(Solvers, EverySolver, ::testing::ValuesIn(SolverKinds()), KindName);

TEST(AdaptiveSolvers, CoverAllSolversOfCaffe) {
  EXPECT_EQ(SolverRegistry<float>::SolverTypeList(),
            (vector<string>{"AdaDelta", "AdaGrad", "Adam", "Nesterov", "RMSProp", "SGD"}));
}

TEST(AdaptiveSolversErrors, RejectInvalidSettings) {
  const auto make = [](const string& fields) { MakeSolver(LeastSquaresNet(), fields); };
  EXPECT_ERROR(make("type: 'AdaGrad' momentum: 0.9"), "Momentum cannot be used with AdaGrad");
  EXPECT_ERROR(make("type: 'RMSProp' momentum: 0.9"), "Momentum cannot be used with RMSProp");
  EXPECT_ERROR(make("type: 'RMSProp' rms_decay: 1"), "rms_decay should lie between 0 and 1");
  EXPECT_ERROR(make("type: 'RMSProp' rms_decay: -0.1"), "rms_decay should lie between 0 and 1");
  EXPECT_ERROR(make("type: 'Adamax'"), "Unknown solver type: Adamax.*AdaDelta, AdaGrad, Adam, Nes");
}

}  // namespace
}  // namespace caffe
