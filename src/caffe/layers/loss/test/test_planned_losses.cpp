// Losses, and layers like them, learn the same with and without a plan.

#include "caffe/layers/loss/test/loss_net.hpp"

namespace caffe {
namespace {

class PlannedLosses : public testing::TestWithParam<const char*> {};

TEST_P(PlannedLosses, LearnTheSameBits) {
  const vector<float> expected = Train(GetParam(), "");
  EXPECT_TRUE(AllFinite(expected));
  EXPECT_FALSE(SameBits(expected, Train("type: 'Reduction' loss_weight: 0", "")));
  for (const char* strategy : {"keep", "liveness", "intra", "inter", "hybrid", "sqrt", "auto"}) {
    EXPECT_TRUE(SameBits(Train(GetParam(), strategy), expected))
        << GetParam() << " under '" << strategy << "'";
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, PlannedLosses,
    testing::Values(
        "type: 'ContrastiveLoss' bottom: 'target' bottom: 'same'",
        "type: 'ContrastiveLoss' bottom: 'target' bottom: 'same' "
        "contrastive_loss_param { margin: 9 legacy_version: true }",
        "type: 'HingeLoss' bottom: 'label'",
        "type: 'HingeLoss' bottom: 'label' hinge_loss_param { norm: L2 }",
        "type: 'InfogainLoss' bottom: 'label' bottom: 'H'",
        "type: 'InfogainLoss' bottom: 'label' bottom: 'H' top: 'prob'",
        "type: 'SigmoidCrossEntropyLoss' bottom: 'target'",
        "type: 'SigmoidCrossEntropyLoss' bottom: 'target' "
        "loss_param { ignore_label: 1 normalization: VALID }",
        "type: 'Reduction' loss_weight: 1 reduction_param { operation: SUM axis: 1 }",
        "type: 'Reduction' loss_weight: 1 reduction_param { operation: ASUM }",
        "type: 'Reduction' loss_weight: 1 reduction_param { operation: SUMSQ }",
        "type: 'Softmax' } layer { name: 'log' type: 'MultinomialLogisticLoss' bottom: 'loss' "
        "bottom: 'label' top: 'log'",
        "type: 'SoftmaxWithLoss' bottom: 'label' } layer { name: 'max' type: 'ArgMax' "
        "bottom: 'ip2' top: 'max'"),
    [](const auto& info) { return "Case" + std::to_string(info.index); });

}  // namespace
}  // namespace caffe
