#include "caffe/layers/test/every_variant.hpp"
#include "caffe/test/expect_error.hpp"

namespace caffe {
namespace {

string Loss(const string& norm = "") {
  return "name: 'loss' type: 'HingeLoss' hinge_loss_param { " + norm + " }";
}

LayerCase Scores(const string& norm, const vector<int>& shape = {4, 5}) {
  LayerCase loss(Loss(norm), {shape, {4}}, 1);
  Assign({0, 4, 2, 1}, loss.bottom[1]);
  return loss;
}

double LossOf(const string& norm) {
  LayerCase loss(Loss(norm), {{2, 3}, {2, 1, 1, 1}}, 1);
  Assign({0.5, 0.25, -2, 3, -0.5, 0}, loss.bottom[0]);
  Assign({0, 1}, loss.bottom[1]);
  loss.SetUp();
  return loss.layer->Forward(loss.bottom, loss.top);
}

TEST(HingeLoss, IsTheMeanViolationOfTheMargin) {
  // 0.5, 1.25, 0; 4, 1.5, 1
  EXPECT_DOUBLE_EQ(LossOf(""), 8.25 / 2);
  EXPECT_DOUBLE_EQ(LossOf("norm: L1"), 8.25 / 2);
  EXPECT_DOUBLE_EQ(LossOf("norm: L2"), (0.25 + 1.5625 + 16 + 2.25 + 1) / 2);
}

TEST(HingeLoss, EveryVariantGivesTheGradient) {
  for (const string norm : {"L1", "L2"}) {
    CheckEveryVariant([&] { return Scores("norm: " + norm); }, {true, false}, 1);
    CheckEveryVariant([&] { return Scores("norm: " + norm, {4, 3, 2, 1}); }, {true, false}, 1);
  }
}

TEST(HingeLoss, TouchesNoDiffInForward) {
  LayerCase loss = Scores("");
  loss.SetUp();
  loss.layer->Forward(loss.bottom, loss.top);
  EXPECT_EQ(loss.bottom[0]->diff()->head(), SyncedMemory::UNINITIALIZED);
}

TEST(HingeLoss, IsZeroForAnEmptyBatch) {
  LayerCase loss(Loss(), {{0, 3}, {0}}, 1);
  loss.SetUp();
  EXPECT_EQ(loss.layer->Forward(loss.bottom, loss.top), 0);
}

TEST(HingeLossErrors, NamesTheLayerOfBadLabels) {
  LayerCase count(Loss(), {{4, 3}, {4, 2}}, 1);
  EXPECT_ERROR(count.SetUp(), "Layer loss.*number of labels must match number of predictions");
  LayerCase range = Scores("");
  range.bottom[1]->mutable_cpu_data()[3] = 5;
  range.SetUp();
  EXPECT_ERROR(range.layer->Forward(range.bottom, range.top),
               "Layer loss: 1 of 4 labels are not class numbers in 0..4");
  EXPECT_ERROR(range.layer->Backward(range.top, {true, true}, range.bottom),
               "Layer loss .*cannot backpropagate to label inputs");
}

}  // namespace
}  // namespace caffe
