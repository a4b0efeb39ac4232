// MultiBoxLoss.
#include <cmath>

#include "caffe/layers/detection/test/detection_inputs.hpp"
#include "caffe/layers/test/variant_check.hpp"
#include "caffe/test/expect_error.hpp"
#include "caffe/test/test_gradient_check_util.hpp"

namespace caffe {
namespace {

string Loss(const string& param) {
  return "name: 'loss' type: 'MultiBoxLoss' multibox_loss_param { num_classes: 2 " + param + " }";
}

/// One item, two classes, the quarters. One object, of class 1, in the first quarter.
class MultiBoxLossTest : public ::testing::Test {
 protected:
  double Forward(const string& param, const string& more = "") {
    layer_ = MakeLayer(Loss(param) + more);
    layer_->SetUp(bottom_, {&top_});
    return layer_->Forward(bottom_, {&top_});
  }
  void Backward() { layer_->Backward({&top_}, {true, true, false, false}, bottom_); }

  std::unique_ptr<Blob<double>> offsets_ = BlobOf({1, 16}, vector<double>(16, 0));
  std::unique_ptr<Blob<double>> scores_ = BlobOf({1, 8}, {0, 0, 0, 0, 1, 0, 0, 3});
  std::unique_ptr<Blob<double>> priors_ = Priors(kQuarters);
  std::unique_ptr<Blob<double>> truth_ = BlobOf({1, 1, 2, 8}, {0, 1, 0, 0, 0, 0.5, 0.5, 0,  //
                                                               -1, 0, 0, 0, 0, 0, 0, 0});
  Blobs bottom_ = {offsets_.get(), scores_.get(), priors_.get(), truth_.get()};
  Blob<double> top_;
  shared_ptr<Layer<double>> layer_;

  // Losses of the second, third and fourth prior as background.
  const double second_ = std::log(2), third_ = std::log1p(std::exp(-1)),
               fourth_ = std::log1p(std::exp(3));
  const double first_ = std::log(2);  // loss of the first prior as the object
};

TEST_F(MultiBoxLossTest, CountsTheWorstNegativesUpToTheRatio) {
  EXPECT_NEAR(Forward("neg_pos_ratio: 1"), first_ + fourth_, 1e-12);
  EXPECT_NEAR(Forward("neg_pos_ratio: 2"), first_ + fourth_ + second_, 1e-12);
  EXPECT_NEAR(Forward("neg_pos_ratio: 2.9"), first_ + fourth_ + second_, 1e-12);
  EXPECT_NEAR(Forward(""), first_ + fourth_ + second_ + third_, 1e-12);
}

TEST_F(MultiBoxLossTest, WithoutMiningAllUnmatchedPriorsAreBackground) {
  for (const char* param : {"mining_type: NONE neg_pos_ratio: 1", "do_neg_mining: false"})
    EXPECT_NEAR(Forward(param), first_ + fourth_ + second_ + third_, 1e-12) << param;
  Backward();
  const vector<double> gradient = DiffOf(*scores_);
  EXPECT_NEAR(gradient[0], 0.5, 1e-12);
  EXPECT_NEAR(gradient[1], -0.5, 1e-12);
  EXPECT_NEAR(gradient[2], -0.5, 1e-12);
  EXPECT_NEAR(gradient[7], 1 / (1 + std::exp(-3)), 1e-12);
}

TEST_F(MultiBoxLossTest, PriorsThatAreNotChosenHaveNoGradient) {
  Forward("neg_pos_ratio: 1");
  Backward();
  const vector<double> gradient = DiffOf(*scores_);
  EXPECT_EQ((vector<double>(gradient.begin() + 2, gradient.begin() + 6)),
            (vector<double>{0, 0, 0, 0}));
  EXPECT_NE(gradient[0], 0);
  EXPECT_NE(gradient[7], 0);
}

TEST_F(MultiBoxLossTest, CountsTheHardestExamplesMatchedOrNot) {
  const string param = "mining_type: HARD_EXAMPLE sample_size: ";
  // Losses in falling order: the fourth; the first and the second; the third.
  EXPECT_NEAR(Forward(param + "1"), fourth_, 1e-12);  // no match: the divisor is 1
  EXPECT_NEAR(Forward(param + "2"), fourth_ + first_, 1e-12);
  EXPECT_NEAR(Forward(param + "9"), fourth_ + first_ + second_ + third_, 1e-12);
  // Offsets make the first the hardest.
  offsets_->mutable_cpu_data()[0] = 9;
  EXPECT_NEAR(Forward(param + "1"), first_ + 8.5, 1e-12);
}

TEST_F(MultiBoxLossTest, MapsObjectsToOneClassIfAgnostic) {
  truth_->mutable_cpu_data()[1] = 17;
  EXPECT_NEAR(Forward("map_object_to_agnostic: true neg_pos_ratio: 1"), first_ + fourth_, 1e-12);
}

TEST_F(MultiBoxLossTest, ComparesTheOffsetsOfMatchedPriors) {
  const double scores = first_ + fourth_;
  std::copy_n(vector<double>{0.5, 0, -2, 0, 9, 9, 9, 9}.data(), 8, offsets_->mutable_cpu_data());
  EXPECT_NEAR(Forward("neg_pos_ratio: 1"), scores + 0.125 + 1.5, 1e-12);
  EXPECT_NEAR(Forward("neg_pos_ratio: 1 loc_loss_type: L2"), scores + 0.125 + 2, 1e-12);
  EXPECT_NEAR(Forward("neg_pos_ratio: 1 loc_weight: 2"), scores + 2 * 1.625, 1e-12);
  Backward();
  vector<double> expected(16, 0);
  expected[0] = 1;
  expected[2] = -2;
  EXPECT_EQ(DiffOf(*offsets_), expected);
}

TEST_F(MultiBoxLossTest, EncodesTargetOffsetsAsCodeTypeSays) {
  // The object is twice as wide as the prior: centre 0.25 / 0.5 away.
  truth_->mutable_cpu_data()[5] = 1;
  const double scores = first_ + fourth_, l2 = std::log(2);
  const string param =
      "neg_pos_ratio: 1 loc_loss_type: L2 neg_overlap: 0.6 overlap_threshold: 0.6 ";
  const auto square = [](double d) { return d * d / 2; };
  EXPECT_NEAR(Forward(param + "code_type: CORNER"), scores + square(0.5 / 0.2), 1e-12);
  EXPECT_NEAR(Forward(param + "code_type: CORNER_SIZE"), scores + square(1 / 0.2), 1e-12);
  EXPECT_NEAR(Forward(param + "code_type: CENTER_SIZE"),
              scores + square(0.5 / 0.1) + square(l2 / 0.2), 1e-12);
  EXPECT_NEAR(Forward(param + "code_type: CENTER_SIZE encode_variance_in_target: true"),
              scores + square(0.5) + square(l2), 1e-12);
}

TEST_F(MultiBoxLossTest, MayUseASigmoidPerClass) {
  const auto all = [](double x, double y) {
    return std::log1p(std::exp(x)) + std::log1p(std::exp(y));
  };
  EXPECT_NEAR(Forward("conf_loss_type: LOGISTIC neg_pos_ratio: 1"), 2 * first_ + all(0, 3), 1e-12);
  Backward();
  const vector<double> gradient = DiffOf(*scores_);
  EXPECT_NEAR(gradient[0], 0.5, 1e-12);
  EXPECT_NEAR(gradient[1], -0.5, 1e-12);
  EXPECT_NEAR(gradient[6], -0.5, 1e-12);
  EXPECT_NEAR(gradient[7], 1 / (1 + std::exp(-3)), 1e-12);
}

TEST_F(MultiBoxLossTest, MayMatchFurtherPriorsPerPrediction) {
  // The first and the second prior overlap the object by 1/2 each. The first is always matched.
  truth_->mutable_cpu_data()[5] = 1;
  const string param = "neg_overlap: 0.1 loc_weight: 0 ";
  const double both = (first_ + std::log(2) + fourth_ + third_) / 2;
  EXPECT_NEAR(Forward(param), both, 1e-12);
  EXPECT_NEAR(Forward(param + "overlap_threshold: 0.6"), first_ + fourth_ + third_, 1e-12);
  EXPECT_NEAR(Forward(param + "match_type: BIPARTITE"), first_ + fourth_ + third_, 1e-12);
  EXPECT_NEAR(Forward("loc_weight: 0 match_type: BIPARTITE neg_overlap: 0.6"),
              first_ + second_ + fourth_ + third_, 1e-12);
}

TEST_F(MultiBoxLossTest, IsZeroWithoutObjectsIfNegativesAreMined) {
  truth_->mutable_cpu_data()[0] = -1;
  EXPECT_EQ(Forward(""), 0);
  Backward();
  EXPECT_EQ(DiffOf(*offsets_), vector<double>(16, 0));
  EXPECT_EQ(DiffOf(*scores_), vector<double>(8, 0));
  EXPECT_NEAR(Forward("mining_type: NONE"), std::log(2) + second_ + third_ + fourth_, 1e-12);
}

TEST_F(MultiBoxLossTest, MayIgnoreDifficultObjects) {
  truth_->mutable_cpu_data()[7] = 1;
  EXPECT_GT(Forward(""), 0);
  EXPECT_EQ(Forward("use_difficult_gt: false"), 0);
}

TEST_F(MultiBoxLossTest, MayIgnorePriorsBeyondTheImage) {
  priors_->mutable_cpu_data()[0] = -0.001;
  EXPECT_GT(Forward(""), 0);
  EXPECT_EQ(Forward("ignore_cross_boundary_bbox: true"), 0);
}

TEST_F(MultiBoxLossTest, MayMatchDecodedBoxes) {
  // The first decoded box leaves the object, the second moves onto it.
  std::copy_n(vector<double>{5, 0, 2.5, 0, -5, 0, -2.5, 0}.data(), 8, offsets_->mutable_cpu_data());
  const double second_matched = std::log(2) + fourth_;
  EXPECT_NEAR(Forward("neg_pos_ratio: 1 use_prior_for_matching: false"), second_matched, 1e-12);
  Backward();
  EXPECT_NEAR(DiffOf(*scores_)[3], -0.5, 1e-12);
  EXPECT_EQ(DiffOf(*scores_)[1], 0);
}

TEST_F(MultiBoxLossTest, DividesAsLossParamSays) {
  const double loss = first_ + fourth_ + second_ + third_;
  EXPECT_NEAR(Forward("", " loss_param { normalization: FULL }"), loss / 4, 1e-12);
  EXPECT_NEAR(Forward("", " loss_param { normalization: BATCH_SIZE }"), loss, 1e-12);
  EXPECT_NEAR(Forward("", " loss_param { normalization: NONE } loss_weight: 3"), 3 * loss, 1e-12);
}

TEST_F(MultiBoxLossTest, NegativeWithNaNLossMakesTheLossNaN) {
  scores_->mutable_cpu_data()[4] = std::numeric_limits<double>::quiet_NaN();
  EXPECT_TRUE(std::isnan(Forward("neg_pos_ratio: 1")));
}

const char* const kLossParams[] = {
    "", "code_type: CENTER_SIZE neg_pos_ratio: 1 loc_weight: 0.5",
    "code_type: CORNER_SIZE loc_loss_type: L2 conf_loss_type: LOGISTIC neg_pos_ratio: 2",
    "mining_type: NONE code_type: CENTER_SIZE encode_variance_in_target: true",
    "mining_type: NONE share_location: false conf_loss_type: LOGISTIC"};

/// Two items, two classes, four priors, three objects.
struct LossCase {
  explicit LossCase(bool share_location)
      : offsets(RandomBlob({2, share_location ? 16 : 32}, 1)),
        bottom{offsets.get(), scores.get(), priors.get(), truth.get()} {}

  std::unique_ptr<Blob<double>> offsets, scores = RandomBlob({2, 8}, 2), priors = Priors(kQuarters);
  std::unique_ptr<Blob<double>> truth = BlobOf({1, 1, 3, 8}, {0, 1, 0, 0.1, 0.1, 0.6, 0.5, 0,  //
                                                              1, 1, 0, 0.4, 0.3, 1,   0.9, 0,  //
                                                              1, 1, 1, 0,   0,   0.4, 0.6, 1});
  Blobs bottom;
  Blob<double> top;
};

bool Shared(const string& param) { return param.find("share_location: false") == string::npos; }

TEST(MultiBoxLoss, GivesTheGradient) {
  for (const char* param : kLossParams) {
    for (const int checked : {0, 1}) {
      for (const int variant : {-1, 0}) {
        SCOPED_TRACE(string(param) + " bottom " + std::to_string(checked));
        LossCase one(Shared(param));
        GradientChecker<double> checker(1e-4, 1e-5);
        checker.set_variant(variant);
        checker.CheckGradientExhaustive(MakeLayer(Loss(param)).get(), one.bottom, {&one.top},
                                        checked);
      }
    }
  }
}

TEST(MultiBoxLoss, GivesTheSameBitsWithEveryAlias) {
  for (const char* param : kLossParams) {
    for (const vector<bool>& wanted : {vector<bool>{true, true, false, false},
                                       {true, false, false, false},
                                       {false, true, false, false}}) {
      LossCase one(Shared(param));
      CheckVariants(MakeLayer(Loss(param)).get(), one.bottom, {&one.top}, wanted, false);
    }
  }
}

TEST(MultiBoxLoss, OffsetsAndScoresTakeGradients) {
  auto layer = MakeLayer(Loss(""));
  for (int i = 0; i < 4; ++i) EXPECT_EQ(layer->AllowForceBackward(i), i < 2);
}

TEST(MultiBoxLossErrors, RejectsUnsupportedOrInconsistentInput) {
  const auto fails = [](const string& param, const char* said) {
    LossCase one(true);
    EXPECT_ERROR(MakeLayer(Loss(param))->SetUp(one.bottom, {&one.top}), said) << param;
  };
  fails("mining_type: HARD_EXAMPLE sample_size: 0", "Layer loss: sample_size must be positive");
  fails("mining_type: HARD_EXAMPLE share_location: false", "Layer loss: without share_location");
  fails("map_object_to_agnostic: true background_label_id: 1",
        "Layer loss: map_object_to_agnostic gives all objects the class after background_label_id");
  fails("mining_type: NONE do_neg_mining: true", "Layer loss: do_neg_mining and mining_type");
  fails("share_location: false", "Layer loss: without share_location, mining_type must be NONE");
  fails("background_label_id: 2", "Layer loss: background_label_id must be one of num_classes");
  LossCase one(true);
  Blob<double> seven(1, 1, 2, 7);
  EXPECT_ERROR(
      MakeLayer(Loss(""))->SetUp({one.bottom[0], one.bottom[1], one.bottom[2], &seven}, {&one.top}),
      "Layer loss: bottom 3, the ground truth, must have rows of 8");
  auto layer = MakeLayer(Loss(""));
  layer->SetUp(one.bottom, {&one.top});
  EXPECT_ERROR(layer->Backward({&one.top}, {true, true, true, false}, one.bottom),
               "Layer loss: priors and ground truth take no gradient");
  for (const double label : {0, 2, -1}) {
    one.truth->mutable_cpu_data()[1] = label;
    EXPECT_ERROR(layer->Forward(one.bottom, {&one.top}), "Layer loss: row 0 .* has label") << label;
  }
  one.truth->mutable_cpu_data()[1] = 1;
  one.truth->mutable_cpu_data()[0] = 2;
  EXPECT_ERROR(layer->Forward(one.bottom, {&one.top}), "Layer loss: row 0 .* is of item 2");
}

}  // namespace
}  // namespace caffe
