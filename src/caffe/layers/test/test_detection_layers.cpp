// DetectionOutput, MultiBoxLoss and DetectionEvaluate.
#include <cmath>
#include <fstream>

#include "caffe/layers/test/form_check.hpp"
#include "caffe/layers/test/layer_test_util.hpp"
#include "caffe/test/test_gradient_check_util.hpp"
#include "caffe/util/io.hpp"

namespace caffe {
namespace {

using Blobs = vector<Blob<double>*>;

/// Boxes as PriorBox gives them, of variances 0.1, 0.1, 0.2, 0.2.
std::unique_ptr<Blob<double>> Priors(vector<double> corners) {
  const size_t count = corners.size();
  for (size_t i = 0; i < count; ++i) corners.push_back(i % 4 < 2 ? 0.1 : 0.2);
  return BlobOf({1, 2, static_cast<int>(count)}, corners);
}

/// The quarters of the image.
const vector<double> kQuarters = {0, 0, 0.5, 0.5, 0.5, 0, 1, 0.5, 0, 0.5, 0.5, 1, 0.5, 0.5, 1, 1};

string Output(const string& param) {
  return "name: 'found' type: 'DetectionOutput' detection_output_param { num_classes: 3 " + param +
         " }";
}

/// Two items, three classes, the quarters with 0 for all offsets.
class DetectionOutputTest : public ::testing::Test {
 protected:
  /// The top's rows, one after the other.
  vector<double> Rows(const string& param) {
    auto layer = MakeLayer(Output(param));
    layer->SetUp(bottom_, {&top_});
    const int most = top_.shape(2);
    layer->Forward(bottom_, {&top_});
    EXPECT_EQ(top_.shape(), (vector<int>{1, 1, top_.count() / 7, 7}));
    EXPECT_LE(top_.shape(2), most);
    return DataOf(top_);
  }

  std::unique_ptr<Blob<double>> offsets_ = BlobOf({2, 16}, vector<double>(32, 0));
  std::unique_ptr<Blob<double>> scores_ = BlobOf({2, 12}, {0.1,  0.8, 0.1, 0.75, 0.2,  0.6,  //
                                                           1,    0,   0,   1,    0,    0,    //
                                                           0.5,  0,   0.5, 1,    0,    0,    //
                                                           0.95, 0,   0,   1,    0.05, 0});
  std::unique_ptr<Blob<double>> priors_ = Priors(kQuarters);
  Blobs bottom_ = {offsets_.get(), scores_.get(), priors_.get()};
  Blob<double> top_;
};

TEST_F(DetectionOutputTest, GivesBoxesOfEachItemAndClassByScore) {
  EXPECT_EQ(Rows("confidence_threshold: 0.15"), (vector<double>{0, 1, 0.8, 0,   0, 0.5, 0.5,  //
                                                                0, 1, 0.2, 0.5, 0, 1,   0.5,  //
                                                                0, 2, 0.6, 0.5, 0, 1,   0.5,  //
                                                                1, 2, 0.5, 0,   0, 0.5, 0.5}));
}

TEST_F(DetectionOutputTest, KeepsTheBestOfAnItem) {
  EXPECT_EQ(Rows("confidence_threshold: 0.15 keep_top_k: 2"),
            (vector<double>{0, 1, 0.8, 0,   0, 0.5, 0.5,  //
                            0, 2, 0.6, 0.5, 0, 1,   0.5,  //
                            1, 2, 0.5, 0,   0, 0.5, 0.5}));
}

TEST_F(DetectionOutputTest, WithoutAThresholdAllClassesButTheBackgroundCount) {
  EXPECT_EQ(Rows("background_label_id: 1").size(), 2u * 2 * 4 * 7);
}

TEST_F(DetectionOutputTest, GivesARowForEachItemWhereNothingIsFound) {
  EXPECT_EQ(Rows("confidence_threshold: 0.9"),
            (vector<double>{0, -1, -1, -1, -1, -1, -1, 1, -1, -1, -1, -1, -1, -1}));
}

TEST_F(DetectionOutputTest, DecodesOffsets) {
  const double of_best[] = {1, 0, std::log(2) / 0.2, 0};
  std::copy_n(of_best, 4, offsets_->mutable_cpu_data());
  for (const bool in_target : {false, true}) {
    const vector<double> rows =
        Rows(string("confidence_threshold: 0.7 code_type: CENTER_SIZE ") +
             "variance_encoded_in_target: " + (in_target ? "true" : "false"));
    const vector<double> expected = {0, 1, 0.8, -0.2, 0, 0.8, 0.5};
    ASSERT_EQ(rows.size(), expected.size());
    for (size_t i = 0; i < rows.size(); ++i) EXPECT_NEAR(rows[i], expected[i], 1e-12) << i;
    // Now the variances are within the offsets.
    offsets_->mutable_cpu_data()[0] = 0.1;
    offsets_->mutable_cpu_data()[2] = std::log(2);
  }
}

TEST_F(DetectionOutputTest, ClassesMayHaveOffsetsOfTheirOwn) {
  auto offsets = BlobOf({2, 48}, vector<double>(96, 0));
  offsets->mutable_cpu_data()[1 * 12 + 2 * 4 + 3] = 0.5;  // prior 1, class 2, ymax
  bottom_[0] = offsets.get();
  EXPECT_EQ(Rows("confidence_threshold: 0.55 share_location: false"),
            (vector<double>{0, 1, 0.8, 0, 0, 0.5, 0.5,  //
                            0, 2, 0.6, 0.5, 0, 1, 0.6}));
}

TEST_F(DetectionOutputTest, SuppressesBoxesThatABetterOneOverlaps) {
  priors_ = Priors({0, 0, 2, 2, 0, 0, 2, 1, 5, 5, 6, 6, 7, 7, 8, 8});  // the first two by 0.5
  bottom_[2] = priors_.get();
  const string param = "confidence_threshold: 0.15 nms_param { nms_threshold: ";
  EXPECT_EQ(Rows(param + "0.45 }"), (vector<double>{0, 1, 0.8, 0, 0, 2, 2,  //
                                                    0, 2, 0.6, 0, 0, 2, 1,  //
                                                    1, 2, 0.5, 0, 0, 2, 2}));
  EXPECT_EQ(Rows(param + "0.5 }").size(), 4u * 7);
  EXPECT_EQ(Rows(param + "0.5 top_k: 1 }").size(), 3u * 7);
}

TEST_F(DetectionOutputTest, TheTopsShapeFollowsTheValues) {
  auto layer = MakeLayer(Output("confidence_threshold: 0.15"));
  layer->SetUp(bottom_, {&top_});
  const MemoryTraits traits = layer->Traits(bottom_, {&top_}, {false, false, false});
  EXPECT_TRUE(traits.declared && traits.varying);
  EXPECT_TRUE(traits.backward.empty());
  layer->Forward(bottom_, {&top_});
  EXPECT_EQ(top_.shape(2), 4);
  layer->Reshape(bottom_, {&top_});
  EXPECT_EQ(top_.shape(2), 4);
  std::fill_n(scores_->mutable_cpu_data(), 24, 0.0);
  layer->Forward(bottom_, {&top_});
  EXPECT_EQ(top_.shape(2), 2);
}

TEST_F(DetectionOutputTest, BeforeTheFirstPassTheTopHasTheMostRows) {
  const pair<const char*, int> most[] = {{"", 2 * 4 * 2},
                                         {"background_label_id: -1", 2 * 4 * 3},
                                         {"nms_param { top_k: 1 }", 2 * 1 * 2},
                                         {"keep_top_k: 3", 2 * 3},
                                         {"keep_top_k: 100", 2 * 4 * 2},
                                         {"keep_top_k: 0", 2}};
  for (const auto& [param, rows] : most) {
    MakeLayer(Output(param))->SetUp(bottom_, {&top_});
    EXPECT_EQ(top_.shape(), (vector<int>{1, 1, rows, 7})) << param;
  }
}

TEST_F(DetectionOutputTest, AnImageForPicturesIsNotRead) {
  const size_t rows = Rows("confidence_threshold: 0.15").size();
  Blob<double> image(2, 3, 4, 4);
  bottom_.push_back(&image);
  EXPECT_EQ(Rows("confidence_threshold: 0.15").size(), rows);
}

TEST(DetectionOutputDeathTest, WhatIsNotSupportedOrDoesNotFitNamesTheLayer) {
  Blob<double> offsets({2, 16}), scores({2, 12}), priors({1, 2, 16}), top;
  const auto set_up = [&](const string& param, Blob<double>* loc, Blob<double>* conf,
                          Blob<double>* prior) {
    MakeLayer(Output(param))->SetUp({loc, conf, prior}, {&top});
  };
  EXPECT_DEATH(set_up("visualize: true", &offsets, &scores, &priors),
               "Layer found: visualize is not supported");
  EXPECT_DEATH(set_up("save_output_param { output_directory: 'x' }", &offsets, &scores, &priors),
               "Layer found: files of detections");
  EXPECT_DEATH(set_up("nms_param { eta: 0 }", &offsets, &scores, &priors),
               "Layer found: eta must be");
  EXPECT_DEATH(set_up("share_location: false", &offsets, &scores, &priors),
               "Layer found: bottom 0, .* 4 offsets for each of 4 priors and each class");
  EXPECT_DEATH(set_up("", &offsets, &offsets, &priors),
               "Layer found: bottom 1, .* must have 3 scores for each of 4 priors");
  EXPECT_DEATH(set_up("", &offsets, &scores, &offsets), "Layer found: bottom 2 must be boxes");
}

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

  // Of being background, for the second, the third and the fourth prior.
  const double second_ = std::log(2), third_ = std::log1p(std::exp(-1)),
               fourth_ = std::log1p(std::exp(3));
  const double first_ = std::log(2);  // of the first to be the object
};

TEST_F(MultiBoxLossTest, AsManyOfTheWorstNegativesCountAsTheRatioSays) {
  EXPECT_NEAR(Forward("neg_pos_ratio: 1"), first_ + fourth_, 1e-12);
  EXPECT_NEAR(Forward("neg_pos_ratio: 2"), first_ + fourth_ + second_, 1e-12);
  EXPECT_NEAR(Forward("neg_pos_ratio: 2.9"), first_ + fourth_ + second_, 1e-12);
  EXPECT_NEAR(Forward(""), first_ + fourth_ + second_ + third_, 1e-12);
}

TEST_F(MultiBoxLossTest, WithoutMiningAllThatAreNotMatchedAreBackground) {
  for (const char* param : {"mining_type: NONE neg_pos_ratio: 1", "do_neg_mining: false"})
    EXPECT_NEAR(Forward(param), first_ + fourth_ + second_ + third_, 1e-12) << param;
  Backward();
  const vector<double> gradient = DiffOf(*scores_);
  EXPECT_NEAR(gradient[0], 0.5, 1e-12);
  EXPECT_NEAR(gradient[1], -0.5, 1e-12);
  EXPECT_NEAR(gradient[2], -0.5, 1e-12);
  EXPECT_NEAR(gradient[7], 1 / (1 + std::exp(-3)), 1e-12);
}

TEST_F(MultiBoxLossTest, WhatIsNotChosenHasNoGradient) {
  Forward("neg_pos_ratio: 1");
  Backward();
  const vector<double> gradient = DiffOf(*scores_);
  EXPECT_EQ((vector<double>(gradient.begin() + 2, gradient.begin() + 6)),
            (vector<double>{0, 0, 0, 0}));
  EXPECT_NE(gradient[0], 0);
  EXPECT_NE(gradient[7], 0);
}

TEST_F(MultiBoxLossTest, OffsetsOfMatchedPriorsAreCompared) {
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

TEST_F(MultiBoxLossTest, TheWantedOffsetsAreInTheCodeThatIsAskedFor) {
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

TEST_F(MultiBoxLossTest, ASigmoidOfEachClass) {
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

TEST_F(MultiBoxLossTest, OtherPriorsMayBeMatchedToo) {
  // The first and the second prior overlap the object by 1/2 each: the first is matched in any
  // case.
  truth_->mutable_cpu_data()[5] = 1;
  const string param = "neg_overlap: 0.1 loc_weight: 0 ";
  const double both = (first_ + std::log(2) + fourth_ + third_) / 2;
  EXPECT_NEAR(Forward(param), both, 1e-12);
  EXPECT_NEAR(Forward(param + "overlap_threshold: 0.6"), first_ + fourth_ + third_, 1e-12);
  EXPECT_NEAR(Forward(param + "match_type: BIPARTITE"), first_ + fourth_ + third_, 1e-12);
  EXPECT_NEAR(Forward("loc_weight: 0 match_type: BIPARTITE neg_overlap: 0.6"),
              first_ + second_ + fourth_ + third_, 1e-12);
}

TEST_F(MultiBoxLossTest, WithoutObjectsThereIsNone) {
  truth_->mutable_cpu_data()[0] = -1;
  EXPECT_EQ(Forward(""), 0);
  Backward();
  EXPECT_EQ(DiffOf(*offsets_), vector<double>(16, 0));
  EXPECT_EQ(DiffOf(*scores_), vector<double>(8, 0));
  EXPECT_NEAR(Forward("mining_type: NONE"), std::log(2) + second_ + third_ + fourth_, 1e-12);
}

TEST_F(MultiBoxLossTest, DifficultObjectsMayBeLeftOut) {
  truth_->mutable_cpu_data()[7] = 1;
  EXPECT_GT(Forward(""), 0);
  EXPECT_EQ(Forward("use_difficult_gt: false"), 0);
}

TEST_F(MultiBoxLossTest, PriorsBeyondTheImageMayBeLeftOut) {
  priors_->mutable_cpu_data()[0] = -0.001;
  EXPECT_GT(Forward(""), 0);
  EXPECT_EQ(Forward("ignore_cross_boundary_bbox: true"), 0);
}

TEST_F(MultiBoxLossTest, BoxesOfTheOffsetsMayBeMatched) {
  // The first prior's box leaves the object, the second's comes to it.
  std::copy_n(vector<double>{5, 0, 2.5, 0, -5, 0, -2.5, 0}.data(), 8, offsets_->mutable_cpu_data());
  const double second_matched = std::log(2) + fourth_;
  EXPECT_NEAR(Forward("neg_pos_ratio: 1 use_prior_for_matching: false"), second_matched, 1e-12);
  Backward();
  EXPECT_NEAR(DiffOf(*scores_)[3], -0.5, 1e-12);
  EXPECT_EQ(DiffOf(*scores_)[1], 0);
}

TEST_F(MultiBoxLossTest, TheDivisorIsThatOfLossParam) {
  const double loss = first_ + fourth_ + second_ + third_;
  EXPECT_NEAR(Forward("", " loss_param { normalization: FULL }"), loss / 4, 1e-12);
  EXPECT_NEAR(Forward("", " loss_param { normalization: BATCH_SIZE }"), loss, 1e-12);
  EXPECT_NEAR(Forward("", " loss_param { normalization: NONE } loss_weight: 3"), 3 * loss, 1e-12);
}

TEST_F(MultiBoxLossTest, ANegativeWhoseLossIsNoNumberMakesTheLossNone) {
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

TEST(MultiBoxLoss, GradientsAgreeWithDifferences) {
  for (const char* param : kLossParams) {
    for (const int checked : {0, 1}) {
      for (const int form : {-1, 0}) {
        SCOPED_TRACE(string(param) + " bottom " + std::to_string(checked));
        LossCase one(Shared(param));
        GradientChecker<double> checker(1e-4, 1e-5);
        checker.set_form(form);
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
      CheckForms(MakeLayer(Loss(param)).get(), one.bottom, {&one.top}, wanted, false);
    }
  }
}

TEST(MultiBoxLoss, OffsetsAndScoresTakeGradients) {
  auto layer = MakeLayer(Loss(""));
  for (int i = 0; i < 4; ++i) EXPECT_EQ(layer->AllowForceBackward(i), i < 2);
}

TEST(MultiBoxLossDeathTest, WhatIsNotSupportedOrDoesNotFitNamesTheLayer) {
  const auto dies = [](const string& param, const char* said) {
    LossCase one(true);
    EXPECT_DEATH(MakeLayer(Loss(param))->SetUp(one.bottom, {&one.top}), said) << param;
  };
  dies("mining_type: HARD_EXAMPLE", "Layer loss: mining_type: HARD_EXAMPLE is not supported");
  dies("map_object_to_agnostic: true", "Layer loss: map_object_to_agnostic is not supported");
  dies("bp_inside: true", "Layer loss: bp_inside is not supported");
  dies("mining_type: NONE do_neg_mining: true", "Layer loss: do_neg_mining and mining_type");
  dies("share_location: false", "Layer loss: without share_location, mining_type must be NONE");
  dies("background_label_id: 2", "Layer loss: background_label_id must be one of num_classes");
  LossCase one(true);
  Blob<double> seven(1, 1, 2, 7);
  EXPECT_DEATH(
      MakeLayer(Loss(""))->SetUp({one.bottom[0], one.bottom[1], one.bottom[2], &seven}, {&one.top}),
      "Layer loss: bottom 3, the ground truth, must have rows of 8");
  auto layer = MakeLayer(Loss(""));
  layer->SetUp(one.bottom, {&one.top});
  EXPECT_DEATH(layer->Backward({&one.top}, {true, true, true, false}, one.bottom),
               "Layer loss: priors and ground truth take no gradient");
  for (const double label : {0, 2, -1}) {
    one.truth->mutable_cpu_data()[1] = label;
    EXPECT_DEATH(layer->Forward(one.bottom, {&one.top}), "Layer loss: row 0 .* has label") << label;
  }
  one.truth->mutable_cpu_data()[1] = 1;
  one.truth->mutable_cpu_data()[0] = 2;
  EXPECT_DEATH(layer->Forward(one.bottom, {&one.top}), "Layer loss: row 0 .* is of item 2");
}

string Evaluate(const string& param) {
  return "name: 'judge' type: 'DetectionEvaluate' detection_evaluate_param { num_classes: 3 " +
         param + " }";
}

class DetectionEvaluateTest : public ::testing::Test {
 protected:
  vector<double> Rows(const string& param) {
    auto layer = MakeLayer(Evaluate(param));
    layer->SetUp({found_.get(), truth_.get()}, {&top_});
    layer->Forward({found_.get(), truth_.get()}, {&top_});
    EXPECT_EQ(top_.shape(), (vector<int>{1, 1, top_.count() / 5, 5}));
    return DataOf(top_);
  }

  // Of the object in the first item, the first two overlap it; its box is in the second item too,
  // where there is only a difficult object of another class.
  std::unique_ptr<Blob<double>> found_ = BlobOf({1, 1, 6, 7}, {1, 2,  0.7,  0, 0, 1,  1,    //
                                                               0, 1,  0.25, 0, 0, 1,  1,    //
                                                               0, 1,  0.5,  0, 0, 1,  0.8,  //
                                                               0, 1,  0.75, 5, 5, 6,  6,    //
                                                               1, 1,  0.9,  0, 0, 1,  1,    //
                                                               1, -1, -1,   0, 0, -1, -1});
  std::unique_ptr<Blob<double>> truth_ = BlobOf({1, 1, 3, 8}, {0,  1, 0, 0, 0, 1, 1, 0,  //
                                                               1,  2, 0, 0, 0, 1, 1, 1,  //
                                                               -1, 0, 0, 0, 0, 0, 0, 0});
  Blob<double> top_;
};

TEST_F(DetectionEvaluateTest, TheBestDetectionOfAnObjectIsTrue) {
  EXPECT_EQ(Rows(""), (vector<double>{-1, 1, 1,    -1, -1,  //
                                      -1, 2, 1,    -1, -1,  //
                                      0,  1, 0.75, 0,  1,   //
                                      0,  1, 0.5,  1,  0,   //
                                      0,  1, 0.25, 0,  1,   //
                                      1,  1, 0.9,  0,  1,   //
                                      1,  2, 0.7,  1,  0}));
}

TEST_F(DetectionEvaluateTest, DifficultObjectsMayNotCount) {
  const vector<double> rows = Rows("evaluate_difficult_gt: false");
  EXPECT_EQ((vector<double>(rows.begin() + 5, rows.begin() + 10)),
            (vector<double>{-1, 2, 0, -1, -1}));
  EXPECT_EQ((vector<double>(rows.end() - 5, rows.end())), (vector<double>{1, 2, 0.7, 0, 0}));
}

TEST_F(DetectionEvaluateTest, TheThresholdDecidesWhatOverlapsEnough) {
  // By 0.8 and more: the second detection is true in place of the first.
  const vector<double> rows = Rows("overlap_threshold: 0.81");
  EXPECT_EQ((vector<double>(rows.begin() + 15, rows.begin() + 25)),
            (vector<double>{0, 1, 0.5, 0, 1, 0, 1, 0.25, 1, 0}));
}

/// A file "name height width" for each image.
class SizedEvaluateTest : public DetectionEvaluateTest {
 protected:
  string Sizes(const string& lines) {
    string path;
    MakeTempFilename(&path);
    std::ofstream(path) << lines;
    return "name_size_file: '" + path + "' ";
  }
};

TEST_F(SizedEvaluateTest, OverlapsAreInPixelsOfWhichTheLastCounts) {
  // Cut at the borders, and with the last pixel, 2 of 3 columns of an image 2 pixels wide.
  found_ = BlobOf({1, 1, 1, 7}, {0, 1, 0.5, -3, 0, 0.5, 9});
  truth_ = BlobOf({1, 1, 1, 8}, {0, 1, 0, 0, 0, 1, 1, 0});
  const auto is_true = [](const vector<double>& rows) { return rows[rows.size() - 2] == 1; };
  EXPECT_FALSE(is_true(Rows("overlap_threshold: 0.65")));
  EXPECT_TRUE(is_true(Rows("overlap_threshold: 0.65 " + Sizes("a 1 2\n"))));
  EXPECT_FALSE(is_true(Rows("overlap_threshold: 0.67 " + Sizes("a 1 2\n"))));
  EXPECT_TRUE(is_true(
      Rows("overlap_threshold: 0.65 resize_param { height: 9 width: 9 } " + Sizes("a 1 2\n"))));
}

TEST_F(SizedEvaluateTest, EachImageHasTheNextLine) {
  // A quarter of the object in item 1: in 1 x 1 pixels 2.25 of 4, in 1000 x 1000 about 1 of 4.
  found_ = BlobOf({1, 1, 1, 7}, {1, 1, 0.5, 0, 0, 0.5, 0.5});
  truth_ = BlobOf({1, 1, 1, 8}, {1, 1, 0, 0, 0, 1, 1, 0});
  auto layer = MakeLayer(Evaluate(Sizes("a 9 9\nb 1 1\n\nc 9 9\nd 1000 1000\ne 1 1\n")));
  const Blobs bottom = {found_.get(), truth_.get()};
  layer->SetUp(bottom, {&top_});
  const auto is_true = [&](Layer<double>* one) {
    one->Forward(bottom, {&top_});
    return DataOf(top_)[13] == 1;
  };
  EXPECT_TRUE(is_true(layer.get()));   // b
  EXPECT_FALSE(is_true(layer.get()));  // d
  LayerProgress progress;
  layer->SaveProgress(&progress);
  EXPECT_FALSE(is_true(layer.get()));  // a, after e
  EXPECT_FALSE(is_true(layer.get()));  // c
  EXPECT_TRUE(is_true(layer.get()));   // e
  EXPECT_FALSE(layer->Traits(bottom, {&top_}, {false, false}).repeatable);
  progress.set_position(0, 3);  // d is next, then e
  EXPECT_TRUE(layer->RestoreProgress(progress));
  EXPECT_TRUE(is_true(layer.get()));
  EXPECT_FALSE(layer->RestoreProgress(LayerProgress()));
}

TEST_F(SizedEvaluateTest, BadFilesNameTheLayer) {
  EXPECT_DEATH(Rows("name_size_file: '/nowhere/sizes'"), "Layer judge: cannot open name_size_file");
  EXPECT_DEATH(Rows(Sizes("\n")), "Layer judge: name_size_file .* names no image");
  EXPECT_DEATH(Rows(Sizes("a 3 4\nb 3\n")), "Layer judge: .*:2: a line is \"name height width\"");
  EXPECT_DEATH(Rows("resize_param { resize_mode: FIT_SMALL_SIZE }"), "Layer judge: .* only WARP");
}

TEST_F(DetectionEvaluateTest, TheTopsShapeFollowsTheValues) {
  auto layer = MakeLayer(Evaluate(""));
  const Blobs bottom = {found_.get(), truth_.get()};
  layer->SetUp(bottom, {&top_});
  EXPECT_EQ(top_.shape(2), 2 + 6);
  EXPECT_TRUE(layer->Traits(bottom, {&top_}, {false, false}).varying);
  layer->Forward(bottom, {&top_});
  layer->Reshape(bottom, {&top_});
  EXPECT_EQ(top_.shape(2), 7);
}

TEST(DetectionEvaluateDeathTest, WhatIsNotSupportedOrDoesNotFitNamesTheLayer) {
  Blob<double> found(1, 1, 1, 7), truth(1, 1, 1, 8), top;
  EXPECT_DEATH(MakeLayer(Evaluate("background_label_id: 3"))->SetUp({&found, &truth}, {&top}),
               "Layer judge: background_label_id must be");
  EXPECT_DEATH(MakeLayer(Evaluate(""))->SetUp({&truth, &truth}, {&top}),
               "Layer judge: bottom 0, the detections, must have rows of 7");
  EXPECT_DEATH(MakeLayer(Evaluate(""))->SetUp({&found, &found}, {&top}),
               "Layer judge: bottom 1, the ground truth, must have rows of 8");
  found.mutable_cpu_data()[1] = 3;
  truth.mutable_cpu_data()[0] = -1;
  auto layer = MakeLayer(Evaluate(""));
  layer->SetUp({&found, &truth}, {&top});
  EXPECT_DEATH(layer->Forward({&found, &truth}, {&top}), "Layer judge: detection 0 has item 0 and");
}

}  // namespace
}  // namespace caffe
