#include "caffe/layers/softmax_loss_layer.hpp"
#include "caffe/layers/test/variant_check.hpp"
#include "caffe/test/expect_error.hpp"

namespace caffe {
namespace {

string Loss(const string& param = "") { return "name: 'loss' type: 'SoftmaxWithLoss' " + param; }

/// Scores of shape {2, 5, 2, 3} with labels 0..4; two positions carry label 255.
void SetLabels(LayerCase* loss) {
  double* label = loss->bottom[1]->mutable_cpu_data();
  for (int i = 0; i < loss->bottom[1]->count(); ++i) label[i] = i * 3 % 5;
  label[1] = label[7] = 255;
}
const vector<vector<int>> kShapes = {{2, 5, 2, 3}, {2, 1, 2, 3}};
const char kIgnore[] = "loss_param { ignore_label: 255 } ";

TEST(Softmax, SumsToOneAndKeepsOrder) {
  LayerCase softmax("type: 'Softmax'", {{2, 3, 2}}, 1);
  softmax.SetUp();
  const double x[] = {1000, 0, 1001, 0, 999, 0, -1, 2, -1, 2, -1, 5};
  std::copy_n(x, 12, softmax.bottom[0]->mutable_cpu_data());
  softmax.layer->Forward(softmax.bottom, softmax.top);
  const double* y = softmax.top[0]->cpu_data();
  EXPECT_NEAR(y[0], 1 / (1 + std::exp(1.) + std::exp(-1.)), 1e-12);
  EXPECT_DOUBLE_EQ(y[1], 1. / 3);
  for (int p : {0, 1, 6, 7}) EXPECT_NEAR(y[p] + y[p + 2] + y[p + 4], 1, 1e-12);
}

TEST(Softmax, AllVariantsGiveTheGradient) {
  CheckAllVariants("type: 'Softmax'", {{2, 4, 3}}, 1, 2);
  CheckAllVariants("type: 'Softmax' softmax_param { axis: -1 }", {{2, 4, 3}}, 1, 2);
  CheckInPlace("type: 'Softmax'", {{2, 4, 3}});
}

TEST(SoftmaxWithLoss, IsTheMeanOfTheNegativeLogs) {
  LayerCase loss(Loss(), {{2, 3}, {2}}, 2);
  const double x[] = {0, 0, 0, 1, 2, 3};
  std::copy_n(x, 6, loss.bottom[0]->mutable_cpu_data());
  loss.bottom[1]->mutable_cpu_data()[0] = 1;
  loss.bottom[1]->mutable_cpu_data()[1] = 2;
  loss.SetUp();
  const double second = -std::log(std::exp(3.) / (std::exp(1.) + std::exp(2.) + std::exp(3.)));
  const double expected = (std::log(3.) + second) / 2;
  EXPECT_NEAR(loss.layer->Forward(loss.bottom, loss.top), expected, 1e-12);
  EXPECT_NEAR(loss.top[0]->cpu_data()[0], expected, 1e-12);
  EXPECT_DOUBLE_EQ(loss.top[1]->cpu_data()[0], 1. / 3);
}

TEST(SoftmaxWithLoss, AllVariantsGiveTheGradient) {
  for (int tops : {1, 2}) {
    for (int variant = -1; variant < 2; ++variant) {
      LayerCase loss(Loss(kIgnore), kShapes, tops);
      SetLabels(&loss);
      loss.SetUp();
      ASSERT_EQ(loss.layer->Traits(loss.bottom, loss.top, {true, false}).backward.size(), 2u);
      GradientChecker<double> checker(1e-4, 1e-6);
      checker.set_variant(variant);
      checker.CheckGradientSingle(loss.layer.get(), loss.bottom, loss.top, 0, 0, 0);
      if (variant < 1) continue;
      EXPECT_EQ(loss.DiffsOfVariant(0, {true, false}), loss.DiffsOfVariant(1, {true, false}));
    }
  }
}

TEST(SoftmaxWithLoss, LossDoesNotDependOnWhatIsSaved) {
  LayerCase saved(Loss(kIgnore), kShapes, 1);
  SetLabels(&saved);
  saved.SetUp();
  saved.DiffsOfVariant(0, {true, false});
  const vector<double> with_prob = saved.outputs;
  saved.DiffsOfVariant(1, {true, false});
  EXPECT_EQ(saved.outputs, with_prob);
}

double LossWith(const string& param) {
  LayerCase loss(Loss(param), kShapes, 1);
  SetLabels(&loss);
  loss.SetUp();
  return loss.layer->Forward(loss.bottom, loss.top);
}

TEST(SoftmaxWithLoss, DividesAsNormalizationSays) {
  const string ignore = "loss_param { ignore_label: 255 ";
  const double sum = LossWith(ignore + "normalization: NONE }");
  EXPECT_NEAR(LossWith(ignore + "normalization: FULL }"), sum / 12, 1e-12);
  EXPECT_NEAR(LossWith(ignore + "normalization: VALID }"), sum / 10, 1e-12);
  EXPECT_NEAR(LossWith(ignore + "normalization: BATCH_SIZE }"), sum / 2, 1e-12);
  EXPECT_NEAR(LossWith(ignore + "}"), sum / 10, 1e-12);
  EXPECT_NEAR(LossWith(ignore + "normalize: true }"), sum / 10, 1e-12);
  EXPECT_NEAR(LossWith(ignore + "normalize: false }"), sum / 2, 1e-12);
  EXPECT_NEAR(LossWith(ignore + "normalize: false normalization: FULL }"), sum / 12, 1e-12);
  EXPECT_NEAR(LossWith(ignore + "} loss_weight: 3"), 3 * sum / 10, 1e-12);
}

const char kWeighted[] =
    "loss_param { ignore_label: 255 weight_by_label_freqs: true class_weighting: 0.5 "
    "class_weighting: 2 class_weighting: 0 class_weighting: 1.5 class_weighting: 3 }";

TEST(SoftmaxWithLoss, WeighsPositionsByTheirClass) {
  LayerCase plain(Loss(kIgnore), kShapes, 2), weighted(Loss(kWeighted), kShapes, 2);
  const double weights[] = {0.5, 2, 0, 1.5, 3};
  double expected = 0;
  for (LayerCase* loss : {&plain, &weighted}) {
    SetLabels(loss);
    loss->SetUp();
  }
  const double sum = weighted.layer->Forward(weighted.bottom, weighted.top) * 10;
  plain.layer->Forward(plain.bottom, plain.top);
  for (LayerCase* loss : {&plain, &weighted}) {
    loss->top[0]->mutable_cpu_diff()[0] = 1;
    loss->layer->Backward(loss->top, {true, false}, loss->bottom);
  }
  for (int p = 0; p < 12; ++p) {
    const double label = plain.bottom[1]->cpu_data()[p];
    if (label == 255) continue;
    const int begin = p / 6 * 30 + p % 6, c = static_cast<int>(label);
    expected -= weights[c] * std::log(plain.top[1]->cpu_data()[begin + c * 6]);
    for (int i = begin; i < begin + 30; i += 6) {
      EXPECT_NEAR(weighted.bottom[0]->cpu_diff()[i], weights[c] * plain.bottom[0]->cpu_diff()[i],
                  1e-12);
    }
  }
  EXPECT_NEAR(sum, expected, 1e-12);
}

TEST(SoftmaxWithLoss, AllVariantsGiveTheGradientOfWeightedClasses) {
  for (int variant = -1; variant < 2; ++variant) {
    LayerCase loss(Loss(kWeighted), kShapes, 1);
    SetLabels(&loss);
    loss.SetUp();
    GradientChecker<double> checker(1e-4, 1e-6);
    checker.set_variant(variant);
    checker.CheckGradientSingle(loss.layer.get(), loss.bottom, loss.top, 0, 0, 0);
  }
}

TEST(SoftmaxWithLoss, IsZeroIfAllLabelsAreIgnored) {
  LayerCase loss(Loss(kIgnore), {{2, 3}, {2}}, 1);
  loss.bottom[1]->mutable_cpu_data()[0] = loss.bottom[1]->mutable_cpu_data()[1] = 255;
  loss.SetUp();
  EXPECT_EQ(loss.layer->Forward(loss.bottom, loss.top), 0);
  EXPECT_EQ(loss.DiffsOfVariant(0, {true, false}), vector<double>(6, 0));
}

TEST(SoftmaxWithLoss, LabelsGetNoGradientEvenIfForced) {
  SoftmaxWithLossLayer<float> loss{ParseLayer(Loss())};
  EXPECT_TRUE(loss.AllowForceBackward(0));
  EXPECT_FALSE(loss.AllowForceBackward(1));
}

TEST(SoftmaxWithLossErrors, RequiresAWeightForEachClass) {
  LayerCase loss(Loss("loss_param { weight_by_label_freqs: true class_weighting: 1 }"),
                 {{2, 3}, {2}}, 1);
  EXPECT_ERROR(loss.SetUp(),
               "Layer loss: class_weighting must be given once for each of 3 classes");
}

TEST(SoftmaxWithLossErrors, NamesTheLayerOfBadLabels) {
  LayerCase count(Loss(), {{2, 3}, {2, 2}}, 1);
  EXPECT_ERROR(count.SetUp(), "Layer loss.*number of labels must match number of predictions");
  LayerCase range(Loss(), {{2, 3}, {2}}, 1);
  range.bottom[1]->mutable_cpu_data()[0] = 0;
  range.bottom[1]->mutable_cpu_data()[1] = 3;
  range.SetUp();
  EXPECT_ERROR(range.layer->Forward(range.bottom, range.top), "Layer loss: 1 of 2 labels");
  EXPECT_ERROR(range.layer->Backward(range.top, {true, true}, range.bottom),
               "Layer loss .*cannot backpropagate to label inputs");
}

}  // namespace
}  // namespace caffe
