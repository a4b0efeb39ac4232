#include "caffe/layers/loss_layer.hpp"
#include "caffe/layers/test/every_variant.hpp"
#include "caffe/test/expect_error.hpp"

namespace caffe {
namespace {

const char kLoss[] = "name: 'loss' type: 'MultinomialLogisticLoss'";

LayerCase Probabilities(const vector<int>& shape) {
  LayerCase loss(kLoss, {shape, {4}}, 1);
  double* prob = loss.bottom[0]->mutable_cpu_data();
  for (int i = 0; i < loss.bottom[0]->count(); ++i) prob[i] = 0.1 + 0.35 * std::fabs(prob[i]);
  Assign({0, 4, 2, 1}, loss.bottom[1]);
  return loss;
}

TEST(MultinomialLogisticLoss, IsTheMeanOfTheNegativeLogs) {
  LayerCase loss(kLoss, {{2, 3}, {2, 1, 1, 1}}, 1);
  Assign({0.5, 0.25, 0.25, 0.5, 0.5, 0}, loss.bottom[0]);
  Assign({1, 2}, loss.bottom[1]);
  loss.SetUp();
  const double least = static_cast<double>(kLOG_THRESHOLD);
  EXPECT_DOUBLE_EQ(loss.layer->Forward(loss.bottom, loss.top),
                   -(std::log(0.25) + std::log(least)) / 2);
  EXPECT_EQ(loss.DiffsOfVariant(0, {true, false}),
            (vector<double>{0, -0.5 / 0.25, 0, 0, 0, -0.5 / least}));
}

TEST(MultinomialLogisticLoss, EveryVariantGivesTheGradient) {
  CheckEveryVariant([] { return Probabilities({4, 5}); }, {true, false}, 1);
  CheckEveryVariant([] { return Probabilities({4, 3, 2, 1}); }, {true, false}, 1);
}

TEST(MultinomialLogisticLossErrors, NamesTheLayerOfBadLabels) {
  LayerCase count(kLoss, {{4, 3}, {4, 2}}, 1);
  EXPECT_ERROR(count.SetUp(), "Layer loss.*number of labels must match number of predictions");
  LayerCase range = Probabilities({4, 5});
  range.bottom[1]->mutable_cpu_data()[3] = -1;
  range.SetUp();
  EXPECT_ERROR(range.layer->Forward(range.bottom, range.top),
               "Layer loss: 1 of 4 labels are not class numbers in 0..4");
  EXPECT_ERROR(range.layer->Backward(range.top, {true, true}, range.bottom),
               "Layer loss .*cannot backpropagate to label inputs");
}

}  // namespace
}  // namespace caffe
