#include "caffe/layers/test/every_variant.hpp"
#include "caffe/test/expect_error.hpp"

namespace caffe {
namespace {

string Loss(const string& param = "") {
  return "name: 'loss' type: 'SigmoidCrossEntropyLoss' " + param;
}

/// Targets in [0, 1], three of 24 are -1.
LayerCase Scores(const string& param, const vector<int>& shape = {4, 3, 2}) {
  LayerCase loss(Loss(param), {shape, shape}, 1);
  double* target = loss.bottom[1]->mutable_cpu_data();
  for (int i = 0; i < loss.bottom[1]->count(); ++i) target[i] = i % 8 == 3 ? -1 : i % 5 / 4.;
  return loss;
}

double LossOf(const string& param, const vector<double>& x, const vector<double>& targets) {
  const vector<int> shape = {static_cast<int>(x.size()), 1};
  LayerCase loss(Loss(param), {shape, shape}, 1);
  Assign(x, loss.bottom[0]);
  Assign(targets, loss.bottom[1]);
  loss.SetUp();
  return loss.layer->Forward(loss.bottom, loss.top);
}

double LossWith(const string& param) {
  LayerCase loss = Scores(param);
  loss.SetUp();
  return loss.layer->Forward(loss.bottom, loss.top);
}

TEST(SigmoidCrossEntropyLoss, IsTheCrossEntropyPerSample) {
  const double s = 1 / (1 + std::exp(-0.5));
  EXPECT_NEAR(LossOf("", {0.5, 0}, {0.25, 1}),
              -(0.25 * std::log(s) + 0.75 * std::log(1 - s) + std::log(0.5)) / 2, 1e-12);
}

TEST(SigmoidCrossEntropyLoss, IsFiniteForLargeScores) {
  EXPECT_DOUBLE_EQ(LossOf("", {1000, -1000, 1000, -1000}, {0, 1, 1, 0}), 500);
}

TEST(SigmoidCrossEntropyLoss, EveryVariantGivesTheGradient) {
  for (const string param : {"", "loss_param { ignore_label: -1 normalization: VALID }",
                             "loss_param { ignore_label: -1 normalization: NONE }"}) {
    CheckEveryVariant([&] { return Scores(param); }, {true, false}, 2);
  }
  CheckEveryVariant([] { return Scores("loss_weight: 0.5", {5}); }, {true, false}, 2);
}

TEST(SigmoidCrossEntropyLoss, SumsManyValues) {
  const int n = 10000;
  EXPECT_NEAR(LossOf("", vector<double>(n, 0), vector<double>(n, 1)), std::log(2.), 1e-9);
}

TEST(SigmoidCrossEntropyLoss, DividesAsNormalizationSays) {
  const string ignore = "loss_param { ignore_label: -1 ";
  const double sum = LossWith(ignore + "normalization: NONE }");
  EXPECT_NEAR(LossWith(ignore + "normalization: FULL }"), sum / 24, 1e-12);
  EXPECT_NEAR(LossWith(ignore + "normalization: VALID }"), sum / 21, 1e-12);
  EXPECT_NEAR(LossWith(ignore + "normalization: BATCH_SIZE }"), sum / 4, 1e-12);
  EXPECT_NEAR(LossWith(ignore + "}"), sum / 4, 1e-12);
  EXPECT_NEAR(LossWith(ignore + "normalize: true }"), sum / 21, 1e-12);
  EXPECT_NEAR(LossWith("loss_param { normalization: VALID }"), LossWith("") * 4 / 24, 1e-12);
}

TEST(SigmoidCrossEntropyLoss, IsZeroForAnEmptyBatch) { EXPECT_EQ(LossOf("", {}, {}), 0); }

TEST(SigmoidCrossEntropyLoss, IsZeroIfAllTargetsAreIgnored) {
  LayerCase loss(Loss("loss_param { ignore_label: 7 normalization: VALID }"), {{2, 2}, {2, 2}}, 1);
  Assign({7, 7, 7.5, 7}, loss.bottom[1]);  // cut to whole numbers
  loss.SetUp();
  EXPECT_EQ(loss.layer->Forward(loss.bottom, loss.top), 0);
  EXPECT_EQ(loss.DiffsOfVariant(0, {true, false}), vector<double>(4, 0));
}

TEST(SigmoidCrossEntropyLossErrors, NamesTheLayerOfBadBottoms) {
  LayerCase count(Loss(), {{2, 3}, {2, 4}}, 1);
  EXPECT_ERROR(count.SetUp(), "Layer loss.*inputs must have the same count");
  LayerCase gradient = Scores("");
  gradient.SetUp();
  EXPECT_ERROR(gradient.layer->Backward(gradient.top, {true, true}, gradient.bottom),
               "Layer loss .*cannot backpropagate to label inputs");
}

}  // namespace
}  // namespace caffe
