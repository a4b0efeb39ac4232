// DetectionOutput and DetectionEvaluate.
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>

#include "caffe/layers/detection/test/detection_inputs.hpp"
#include "caffe/test/expect_error.hpp"
#include "caffe/util/io.hpp"

namespace caffe {
namespace {

string Output(const string& param) {
  return "name: 'found' type: 'DetectionOutput' detection_output_param { num_classes: 3 " + param +
         " }";
}

/// Two items, three classes, the quarters with 0 for all offsets.
class DetectionOutputTest : public ::testing::Test {
 protected:
  /// The top's rows, concatenated.
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

TEST_F(DetectionOutputTest, GivesARowPerItemIfNothingIsFound) {
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
    // Here the offsets include the variances.
    offsets_->mutable_cpu_data()[0] = 0.1;
    offsets_->mutable_cpu_data()[2] = std::log(2);
  }
}

TEST_F(DetectionOutputTest, ClassesMayHaveTheirOwnOffsets) {
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

TEST_F(DetectionOutputTest, TopShapeFollowsTheValues) {
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

TEST_F(DetectionOutputTest, TopHasTheMostRowsBeforeTheFirstPass) {
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

TEST_F(DetectionOutputTest, DoesNotReadTheImage) {
  const size_t rows = Rows("confidence_threshold: 0.15").size();
  Blob<double> image(2, 3, 4, 4);
  bottom_.push_back(&image);
  EXPECT_EQ(Rows("confidence_threshold: 0.15").size(), rows);
}

TEST_F(DetectionOutputTest, WarnsThatItWritesNoFilesAndShowsNoImages) {
  testing::internal::CaptureStderr();
  const size_t rows =
      Rows("confidence_threshold: 0.15 visualize: true save_output_param { output_directory: 'x' }")
          .size();
  const string said = testing::internal::GetCapturedStderr();
  EXPECT_NE(said.find("Layer found: save_output_param has no effect here"), string::npos) << said;
  EXPECT_NE(said.find("Layer found: visualize has no effect here"), string::npos) << said;
  EXPECT_EQ(Rows("confidence_threshold: 0.15").size(), rows);
}

TEST(DetectionOutputErrors, RejectsUnsupportedOrInconsistentInput) {
  Blob<double> offsets({2, 16}), scores({2, 12}), priors({1, 2, 16}), top;
  const auto set_up = [&](const string& param, Blob<double>* loc, Blob<double>* conf,
                          Blob<double>* prior) {
    MakeLayer(Output(param))->SetUp({loc, conf, prior}, {&top});
  };
  EXPECT_ERROR(set_up("nms_param { eta: 0 }", &offsets, &scores, &priors),
               "Layer found: eta must be");
  EXPECT_ERROR(set_up("share_location: false", &offsets, &scores, &priors),
               "Layer found: bottom 0, .* 4 offsets for each of 4 priors and each class");
  EXPECT_ERROR(set_up("", &offsets, &offsets, &priors),
               "Layer found: bottom 1, .* must have 3 scores for each of 4 priors");
  EXPECT_ERROR(set_up("", &offsets, &scores, &offsets), "Layer found: bottom 2 must be boxes");
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

  // The first two detections of item 0 overlap its object. The same box is also found in item 1,
  // which has only a difficult object of another class.
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

TEST_F(DetectionEvaluateTest, MayIgnoreDifficultObjects) {
  const vector<double> rows = Rows("evaluate_difficult_gt: false");
  EXPECT_EQ((vector<double>(rows.begin() + 5, rows.begin() + 10)),
            (vector<double>{-1, 2, 0, -1, -1}));
  EXPECT_EQ((vector<double>(rows.end() - 5, rows.end())), (vector<double>{1, 2, 0.7, 0, 0}));
}

TEST_F(DetectionEvaluateTest, TheThresholdDecidesWhatOverlapsEnough) {
  // The detection of score 0.5 overlaps the object by 0.8 only, so that of score 0.25 is right.
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

TEST_F(SizedEvaluateTest, MeasuresOverlapsInPixelsIncludingTheLast) {
  // Clipped to the image and with the last pixel included: 2 of 3 columns of an image 2 pixels
  // wide.
  found_ = BlobOf({1, 1, 1, 7}, {0, 1, 0.5, -3, 0, 0.5, 9});
  truth_ = BlobOf({1, 1, 1, 8}, {0, 1, 0, 0, 0, 1, 1, 0});
  const auto is_true = [](const vector<double>& rows) { return rows[rows.size() - 2] == 1; };
  EXPECT_FALSE(is_true(Rows("overlap_threshold: 0.65")));
  EXPECT_TRUE(is_true(Rows("overlap_threshold: 0.65 " + Sizes("a 1 2\n"))));
  EXPECT_FALSE(is_true(Rows("overlap_threshold: 0.67 " + Sizes("a 1 2\n"))));
  EXPECT_TRUE(is_true(
      Rows("overlap_threshold: 0.65 resize_param { height: 9 width: 9 } " + Sizes("a 1 2\n"))));
}

TEST_F(SizedEvaluateTest, IgnoresThePaddingOfImages) {
  // 200 x 100 pixels became 50 x 25, in the middle of 50 x 50. The object is the whole image, the
  // detection the whole padded image.
  found_ = BlobOf({1, 1, 1, 7}, {0, 1, 0.5, 0, 0, 1, 1});
  truth_ = BlobOf({1, 1, 1, 8}, {0, 1, 0, 0, 0.24, 1, 0.74, 0});
  const auto is_true = [](const vector<double>& rows) { return rows[rows.size() - 2] == 1; };
  const string sizes = Sizes("a 100 200\n");
  EXPECT_TRUE(
      is_true(Rows("overlap_threshold: 0.98 resize_param { resize_mode: "
                   "FIT_LARGE_SIZE_AND_PAD height: 50 width: 50 } " +
                   sizes)));
  EXPECT_FALSE(
      is_true(Rows("overlap_threshold: 0.6 resize_param { height: 50 width: 50 } " + sizes)));
}

TEST_F(SizedEvaluateTest, EachImageTakesTheNextLine) {
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
  EXPECT_ERROR(Rows("name_size_file: '/nowhere/sizes'"), "Layer judge: cannot open name_size_file");
  EXPECT_ERROR(Rows(Sizes("\n")), "Layer judge: name_size_file .* names no image");
  EXPECT_ERROR(Rows(Sizes("a 3 4\nb 3\n")),
               "Layer judge: .*:2: a line must be \"name height width\"");
  EXPECT_ERROR(Rows("resize_param { resize_mode: FIT_LARGE_SIZE_AND_PAD height: 3 }"),
               "Layer judge: resize_param needs a height and a width");
}

TEST_F(DetectionEvaluateTest, TopShapeFollowsTheValues) {
  auto layer = MakeLayer(Evaluate(""));
  const Blobs bottom = {found_.get(), truth_.get()};
  layer->SetUp(bottom, {&top_});
  EXPECT_EQ(top_.shape(2), 2 + 6);
  EXPECT_TRUE(layer->Traits(bottom, {&top_}, {false, false}).varying);
  layer->Forward(bottom, {&top_});
  layer->Reshape(bottom, {&top_});
  EXPECT_EQ(top_.shape(2), 7);
}

TEST(DetectionEvaluateErrors, RejectsUnsupportedOrInconsistentInput) {
  Blob<double> found(1, 1, 1, 7), truth(1, 1, 1, 8), top;
  EXPECT_ERROR(MakeLayer(Evaluate("background_label_id: 3"))->SetUp({&found, &truth}, {&top}),
               "Layer judge: background_label_id must be");
  EXPECT_ERROR(MakeLayer(Evaluate(""))->SetUp({&truth, &truth}, {&top}),
               "Layer judge: bottom 0, the detections, must have rows of 7");
  EXPECT_ERROR(MakeLayer(Evaluate(""))->SetUp({&found, &found}, {&top}),
               "Layer judge: bottom 1, the ground truth, must have rows of 8");
  found.mutable_cpu_data()[1] = 3;
  truth.mutable_cpu_data()[0] = -1;
  auto layer = MakeLayer(Evaluate(""));
  layer->SetUp({&found, &truth}, {&top});
  EXPECT_ERROR(layer->Forward({&found, &truth}, {&top}), "Layer judge: detection 0 has item 0 and");
}

}  // namespace
}  // namespace caffe
