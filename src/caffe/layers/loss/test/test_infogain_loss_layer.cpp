#include "caffe/layers/test/every_variant.hpp"
#include "caffe/test/expect_error.hpp"
#include "caffe/util/io.hpp"

namespace caffe {
namespace {

string Loss(const string& param = "") { return "name: 'loss' type: 'InfogainLoss' " + param; }
const char kIgnore[] = "loss_param { ignore_label: 255 } ";
const vector<vector<int>> kShapes = {{2, 5, 2, 3}, {2, 1, 2, 3}, {1, 1, 5, 5}};

/// Labels 0..4, two positions labelled 255.
void SetLabels(Blob<double>* labels) {
  double* label = labels->mutable_cpu_data();
  for (int i = 0; i < labels->count(); ++i) label[i] = i * 3 % 5;
  label[1] = label[7] = 255;
}

LayerCase Scores(const string& param, const vector<vector<int>>& shapes = kShapes, int tops = 1) {
  LayerCase loss(Loss(kIgnore + param), shapes, tops);
  SetLabels(loss.bottom[1]);
  return loss;
}

/// A file with the matrix of `blob`.
string FileOf(const Blob<double>& blob) {
  BlobProto proto;
  blob.ToProto(&proto);
  string name;
  MakeTempFilename(&name);
  WriteProtoToBinaryFile(proto, name);
  return name;
}

TEST(InfogainLoss, WeighsTheLogsByTheRowOfTheLabel) {
  LayerCase loss(Loss(), {{2, 2}, {2}, {2, 2}}, 2);
  Assign({0, 0, 0, std::log(3.)}, loss.bottom[0]);
  Assign({0, 1}, loss.bottom[1]);
  Assign({1, 0.5, 0, 2}, loss.bottom[2]);
  loss.SetUp();
  EXPECT_NEAR(loss.layer->Forward(loss.bottom, loss.top),
              -(1.5 * std::log(0.5) + 2 * std::log(0.75)) / 2, 1e-12);
  EXPECT_NEAR(loss.top[1]->cpu_data()[2], 0.25, 1e-12);
  EXPECT_NEAR(loss.top[1]->cpu_data()[3], 0.75, 1e-12);
}

TEST(InfogainLoss, EveryVariantGivesTheGradient) {
  for (int tops : {1, 2})
    CheckEveryVariant([&] { return Scores("", kShapes, tops); }, {true, false, false}, 2);
  CheckEveryVariant(
      [] {
        return Scores("infogain_loss_param { axis: -1 } loss_weight: 0.5",
                      {{2, 4, 5}, {2, 4}, {5, 5}});
      },
      {true, false, false}, 2);
}

TEST(InfogainLoss, TakesTheMatrixFromAFile) {
  LayerCase bottom = Scores("");
  bottom.SetUp();
  const string source = "infogain_loss_param { source: '" + FileOf(*bottom.bottom[2]) + "' }";
  const auto make = [&] { return Scores(source, {kShapes[0], kShapes[1]}); };
  CheckEveryVariant(make, {true, false}, 2);
  LayerCase file = make();
  file.SetUp();
  EXPECT_EQ(file.layer->Forward(file.bottom, file.top),
            bottom.layer->Forward(bottom.bottom, bottom.top));
  EXPECT_EQ(file.DiffsOfVariant(0, {true, false}), bottom.DiffsOfVariant(0, {true, false, false}));
}

double LossWith(const string& param) {
  LayerCase loss(Loss(param), kShapes, 1);
  SetLabels(loss.bottom[1]);
  loss.SetUp();
  return loss.layer->Forward(loss.bottom, loss.top);
}

TEST(InfogainLoss, DividesAsNormalizationSays) {
  const string ignore = "loss_param { ignore_label: 255 ";
  const double sum = LossWith(ignore + "normalization: NONE }");
  EXPECT_NEAR(LossWith(ignore + "normalization: FULL }"), sum / 12, 1e-12);
  EXPECT_NEAR(LossWith(ignore + "normalization: VALID }"), sum / 10, 1e-12);
  EXPECT_NEAR(LossWith(ignore + "normalization: BATCH_SIZE }"), sum / 2, 1e-12);
  EXPECT_NEAR(LossWith(ignore + "}"), sum / 10, 1e-12);
  EXPECT_NEAR(LossWith(ignore + "normalize: false }"), sum / 2, 1e-12);
}

TEST(InfogainLoss, OnlyScoresGetAForcedGradient) {
  const LayerCase loss = Scores("");
  EXPECT_TRUE(loss.layer->AllowForceBackward(0));
  EXPECT_FALSE(loss.layer->AllowForceBackward(1));
  EXPECT_FALSE(loss.layer->AllowForceBackward(2));
}

TEST(InfogainLossErrors, NamesTheLayerOfBadInput) {
  LayerCase none(Loss(), {kShapes[0], kShapes[1]}, 1);
  EXPECT_ERROR(none.SetUp(), "Layer loss: Infogain matrix source must be specified");
  LayerCase matrix(Loss(), {{2, 5}, {2}, {4, 5}}, 1);
  EXPECT_ERROR(matrix.SetUp(), "Layer loss: 5 classes need an infogain matrix");
  LayerCase labels(Loss(), {{2, 5}, {2, 2}, {5, 5}}, 1);
  EXPECT_ERROR(labels.SetUp(), "Layer loss.*number of labels must match number of predictions");
  LayerCase range = Scores("");
  range.bottom[1]->mutable_cpu_data()[0] = 5;
  range.SetUp();
  EXPECT_ERROR(range.layer->Forward(range.bottom, range.top), "Layer loss: 1 of 10 labels");
  EXPECT_ERROR(range.layer->Backward(range.top, {true, true, false}, range.bottom),
               "Layer loss .*cannot backpropagate to label inputs");
  EXPECT_ERROR(range.layer->Backward(range.top, {true, false, true}, range.bottom),
               "Layer loss .*cannot backpropagate to infogain inputs");
}

}  // namespace
}  // namespace caffe
