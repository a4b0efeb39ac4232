#include "caffe/layers/test/every_variant.hpp"
#include "caffe/test/expect_error.hpp"

namespace caffe {
namespace {

string Loss(const string& param) {
  return "name: 'loss' type: 'ContrastiveLoss' contrastive_loss_param { " + param + " }";
}

/// Six pairs of three values, some nearer than 2, every other one similar.
LayerCase Pairs(const string& param, const vector<int>& shape = {6, 3}) {
  LayerCase loss(Loss(param), {shape, shape, {6}}, 1);
  double* b = loss.bottom[1]->mutable_cpu_data();
  const double* a = loss.bottom[0]->cpu_data();
  for (int i = 0; i < loss.bottom[1]->count(); ++i) b[i] = a[i] + b[i] * (i % 3 == 0 ? 1 : 0.3);
  Assign({1, 0, 0, 0, -1, 0}, loss.bottom[2]);
  return loss;
}

double LossOf(const string& param, const vector<double>& a, const vector<double>& b,
              const vector<double>& labels) {
  const int n = static_cast<int>(labels.size()), length = static_cast<int>(a.size()) / n;
  LayerCase loss(Loss(param), {{n, length}, {n, length}, {n}}, 1);
  Assign(a, loss.bottom[0]);
  Assign(b, loss.bottom[1]);
  Assign(labels, loss.bottom[2]);
  loss.SetUp();
  return loss.layer->Forward(loss.bottom, loss.top);
}

TEST(ContrastiveLoss, PullsSimilarPairsTogetherAndPushesOthersBeyondTheMargin) {
  // Distances 5, 5 and 0.
  const vector<double> a = {0, 0, 1, 1, 2, 2}, b = {3, 4, -2, 5, 2, 2};
  EXPECT_DOUBLE_EQ(LossOf("margin: 7", a, b, {1, 0, 0}), (25 + 4 + 49) / 6.);
  EXPECT_DOUBLE_EQ(LossOf("margin: 4", a, b, {1, 0, 0}), (25 + 0 + 16) / 6.);
  EXPECT_DOUBLE_EQ(LossOf("margin: 7 legacy_version: true", a, b, {1, 0, 0}), (25 + 0 + 7) / 6.);
  EXPECT_DOUBLE_EQ(LossOf("margin: 30 legacy_version: true", a, b, {0, 1, 1}), (5 + 25 + 0) / 6.);
  EXPECT_DOUBLE_EQ(LossOf("", a, b, {0, 0, 0}), 1 / 6.);  // margin 1
}

TEST(ContrastiveLoss, TruncatesLabelsToIntegers) {
  EXPECT_DOUBLE_EQ(LossOf("margin: 7", {0, 0}, {3, 4}, {0.9}), 4 / 2.);
  EXPECT_DOUBLE_EQ(LossOf("margin: 7", {0, 0}, {3, 4}, {-1}), 25 / 2.);
}

TEST(ContrastiveLoss, EveryVariantGivesTheGradient) {
  for (const string legacy : {"false", "true"}) {
    const auto make = [&] { return Pairs("margin: 2 legacy_version: " + legacy); };
    // Caffe avoids a division by zero, so its derivative of the distance is not exact.
    CheckEveryVariant(make, {true, true, false}, 2, 1e-3);
    CheckEveryVariant(make, {true, false, false}, 2, 1e-3);
    CheckEveryVariant(make, {false, true, false}, 2, 1e-3);
  }
  CheckEveryVariant([] { return Pairs("margin: 2", {6, 3, 2, 2}); }, {true, true, false}, 2, 1e-3);
}

TEST(ContrastiveLoss, HasZeroGradientForEqualVectors) {
  LayerCase loss(Loss("margin: 2"), {{2, 2}, {2, 2}, {2}}, 1);
  Assign({1, 2, 3, 4}, loss.bottom[0]);
  Assign({1, 2, 3, 4}, loss.bottom[1]);
  Assign({1, 0}, loss.bottom[2]);
  loss.SetUp();
  EXPECT_EQ(loss.DiffsOfVariant(0, {true, true, false}), vector<double>(8, 0));
}

TEST(ContrastiveLoss, IsZeroForAnEmptyBatch) {
  LayerCase loss(Loss(""), {{0, 3}, {0, 3}, {0}}, 1);
  loss.SetUp();
  EXPECT_EQ(loss.layer->Forward(loss.bottom, loss.top), 0);
}

TEST(ContrastiveLoss, OnlyLabelsGetNoGradientEvenIfForced) {
  const LayerCase loss = Pairs("");
  EXPECT_TRUE(loss.layer->AllowForceBackward(0));
  EXPECT_TRUE(loss.layer->AllowForceBackward(1));
  EXPECT_FALSE(loss.layer->AllowForceBackward(2));
}

TEST(ContrastiveLossErrors, NamesTheLayerOfBadBottoms) {
  LayerCase length(Loss(""), {{2, 3}, {2, 4}, {2}}, 1);
  EXPECT_ERROR(length.SetUp(), "Layer loss: the vectors to compare must have the same length");
  LayerCase labels(Loss(""), {{2, 3}, {2, 3}, {3}}, 1);
  EXPECT_ERROR(labels.SetUp(), "Layer loss: there must be one label for each pair");
  LayerCase samples(Loss(""), {{2, 3}, {3, 3}, {2}}, 1);
  EXPECT_ERROR(samples.SetUp(), "Layer loss: the data and label should have the same first");
  LayerCase gradient = Pairs("");
  gradient.SetUp();
  EXPECT_ERROR(gradient.layer->Backward(gradient.top, {true, true, true}, gradient.bottom),
               "Layer loss .*cannot backpropagate to label inputs");
}

}  // namespace
}  // namespace caffe
