#ifdef USE_OPENCV

#include "caffe/data/image_transforms.hpp"

#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <opencv2/imgproc/imgproc.hpp>
#include <set>
#include <string>

#include "caffe/data/draws.hpp"
#include "caffe/data_transformer.hpp"
#include "caffe/test/expect_error.hpp"

namespace caffe {
namespace {

template <typename Message>
Message Parsed(const string& text) {
  Message message;
  CHECK(google::protobuf::TextFormat::ParseFromString(text, &message)) << text;
  return message;
}

/// Pixel (row, column, channel) has the value 40 row + 8 column + channel + 1.
cv::Mat Image(int rows, int columns, int channels = 3) {
  cv::Mat image(rows, columns, CV_8UC(channels));
  for (int r = 0; r < rows; ++r) {
    for (int i = 0; i < columns * channels; ++i)
      image.at<uchar>(r, i) = static_cast<uchar>(40 * r + 8 * (i / channels) + i % channels + 1);
  }
  return image;
}

bool Equal(const cv::Mat& a, const cv::Mat& b) {
  return a.size() == b.size() && a.type() == b.type() && cv::norm(a, b, cv::NORM_INF) == 0;
}

class ImageTransforms : public ::testing::Test {
 protected:
  cv::Mat Resize(const string& param, const cv::Mat& image) {
    return Resized(Parsed<ResizeParameter>(param), image, &random_);
  }
  cv::Mat Distort(const string& param, const cv::Mat& image) {
    return Distorted(Parsed<DistortionParameter>(param), image, &random_);
  }

  rng_t random_{1701};
};

TEST_F(ImageTransforms, WarpGivesTheRequestedSize) {
  const cv::Mat image = Image(2, 3);
  const cv::Mat large = Resize("height: 4 width: 9 interp_mode: NEAREST", image);
  ASSERT_EQ(large.size(), cv::Size(9, 4));
  for (int r = 0; r < 4; ++r) {
    for (int c = 0; c < 9; ++c)
      EXPECT_EQ(large.at<cv::Vec3b>(r, c), image.at<cv::Vec3b>(r / 2, c / 3)) << r << " " << c;
  }
}

TEST_F(ImageTransforms, FitSmallSizeCoversTheSizeAndKeepsTheAspectRatio) {
  const ResizeParameter param =
      Parsed<ResizeParameter>("height: 4 width: 4 resize_mode: FIT_SMALL_SIZE");
  EXPECT_EQ(Resized(param, Image(2, 3), &random_).size(), cv::Size(6, 4));
  EXPECT_EQ(Resized(param, Image(6, 3), &random_).size(), cv::Size(4, 8));
  EXPECT_EQ(ResizedSize(param, cv::Size(3, 6)), cv::Size(4, 8));
}

TEST_F(ImageTransforms, FitLargeSizePadsEvenlyWithTheValuesOfEachChannel) {
  const cv::Mat image = Image(2, 4);
  const string param =
      "height: 8 width: 4 resize_mode: FIT_LARGE_SIZE_AND_PAD interp_mode: NEAREST ";
  const cv::Mat padded = Resize(param + "pad_value: 7 pad_value: 8 pad_value: 9", image);
  ASSERT_EQ(padded.size(), cv::Size(4, 8));
  EXPECT_TRUE(Equal(padded(cv::Rect(0, 3, 4, 2)), image));
  for (const int row : {0, 1, 2, 5, 6, 7}) {
    for (int c = 0; c < 4; ++c) EXPECT_EQ(padded.at<cv::Vec3b>(row, c), cv::Vec3b(7, 8, 9));
  }
  const cv::Mat repeated = Resize(param + "pad_mode: REPEAT_NEAREST", image);
  EXPECT_TRUE(Equal(repeated.row(0), image.row(0)));
  EXPECT_TRUE(Equal(repeated.row(7), image.row(1)));
  const cv::Mat mirrored = Resize(param + "pad_mode: MIRRORED", image);
  EXPECT_TRUE(Equal(mirrored.row(2), image.row(1)));
}

TEST_F(ImageTransforms, DrawsEachInterpolation) {
  std::set<int> seen;
  for (int i = 0; i < 50; ++i) {
    const cv::Mat image = Resize(
        "height: 3 width: 3 interp_mode: NEAREST interp_mode: LINEAR interp_mode: CUBIC "
        "interp_mode: AREA interp_mode: LANCZOS4",
        Image(2, 7));
    seen.insert(image.at<uchar>(1, 3));
  }
  EXPECT_GE(seen.size(), 3u);
}

TEST_F(ImageTransforms, ProbabilitiesOfZeroKeepTheImage) {
  const cv::Mat image = Image(3, 4);
  EXPECT_TRUE(Equal(Distort("", image), image));
  EXPECT_TRUE(Equal(Resize("prob: 0 height: 9 width: 9", image), image));
  const auto expansion = Parsed<ExpansionParameter>("prob: 0 max_expand_ratio: 4");
  EXPECT_TRUE(Equal(Expanded(expansion, image, {}, &random_), image));
}

TEST_F(ImageTransforms, BrightnessAddsOneNumberToAllPixels) {
  const cv::Mat image(3, 3, CV_8UC3, cv::Scalar(100, 110, 120));
  std::set<int> seen;
  for (int i = 0; i < 40; ++i) {
    const cv::Mat changed = Distort("brightness_prob: 1 brightness_delta: 20", image);
    const int added = changed.at<uchar>(0, 0) - 100;
    EXPECT_LE(std::abs(added), 20);
    const cv::Mat expected(3, 3, CV_8UC3, cv::Scalar(100 + added, 110 + added, 120 + added));
    EXPECT_LE(cv::norm(changed, expected, cv::NORM_INF), 1);
    seen.insert(added);
  }
  EXPECT_LT(*seen.begin(), -10);
  EXPECT_GT(*seen.rbegin(), 10);
}

TEST_F(ImageTransforms, ContrastMultipliesAndSaturates) {
  const cv::Mat image = Image(5, 4);
  const cv::Mat changed =
      Distort("contrast_prob: 1 contrast_lower: 1.5 contrast_upper: 1.5", image);
  for (int r = 0; r < 5; ++r) {
    for (int i = 0; i < 12; ++i) {
      const double expected = std::min(255.0, 1.5 * image.at<uchar>(r, i));
      EXPECT_NEAR(changed.at<uchar>(r, i), expected, 0.5) << r << " " << i;
    }
  }
}

TEST_F(ImageTransforms, SaturationOfZeroIsGray) {
  const cv::Mat changed =
      Distort("saturation_prob: 1 saturation_lower: 0 saturation_upper: 0", Image(3, 4));
  for (int r = 0; r < 3; ++r) {
    for (int c = 0; c < 4; ++c) {
      const cv::Vec3b pixel = changed.at<cv::Vec3b>(r, c);
      EXPECT_EQ(pixel[0], pixel[1]);
      EXPECT_EQ(pixel[1], pixel[2]);
    }
  }
}

TEST_F(ImageTransforms, HueRotatesColoursAndKeepsTheirBrightness) {
  const cv::Mat red(2, 2, CV_8UC3, cv::Scalar(0, 0, 200));
  std::set<int> green;
  for (int i = 0; i < 60; ++i) {
    const cv::Vec3b pixel = Distort("hue_prob: 1 hue_delta: 30", red).at<cv::Vec3b>(1, 1);
    EXPECT_EQ(pixel[2], 200);  // red is the strongest within 60 degrees
    EXPECT_EQ(std::min(pixel[0], pixel[1]), 0);
    green.insert(pixel[1]);
  }
  EXPECT_GT(green.size(), 5u);
}

TEST_F(ImageTransforms, HuesWrapAroundForLargeDeltas) {
  rng_t same = random_;
  const cv::Mat red(1, 1, CV_8UC3, cv::Scalar(0, 0, 200));
  const cv::Mat changed = Distort("hue_prob: 1 hue_delta: 1e12", red);
  same();  // draws the order of contrast and hue
  const double turned = std::fmod(DrawUniform(&same, -float(1e12), float(1e12)), 180);
  const cv::Mat hsv(1, 1, CV_8UC3, cv::Scalar(std::lround(turned + 180) % 180, 255, 200));
  cv::Mat expected;
  cv::cvtColor(hsv, expected, cv::COLOR_HSV2BGR);
  EXPECT_TRUE(Equal(changed, expected)) << changed << " " << expected;
}

TEST_F(ImageTransforms, PermutesChannels) {
  const cv::Mat image(1, 1, CV_8UC3, cv::Scalar(1, 2, 3));
  std::set<int> orders;
  for (int i = 0; i < 60; ++i) {
    const cv::Vec3b pixel = Distort("random_order_prob: 1", image).at<cv::Vec3b>(0, 0);
    EXPECT_EQ(pixel[0] + pixel[1] + pixel[2], 6);
    orders.insert(100 * pixel[0] + 10 * pixel[1] + pixel[2]);
  }
  EXPECT_EQ(orders.size(), 6u);
}

TEST_F(ImageTransforms, GrayImagesHaveNoHue) {
  const cv::Mat image = Image(2, 3, 1);
  EXPECT_TRUE(Equal(Distort("hue_prob: 1 hue_delta: 90 saturation_prob: 1 saturation_upper: 9 "
                            "random_order_prob: 1",
                            image),
                    image));
}

TEST_F(ImageTransforms, ExpandPlacesTheImageInALargerOne) {
  const cv::Mat image = Image(4, 6);
  const auto param = Parsed<ExpansionParameter>("max_expand_ratio: 3");
  std::set<int> rows;
  for (int i = 0; i < 30; ++i) {
    const cv::Mat expanded = Expanded(param, image, {250, 251, 252}, &random_);
    EXPECT_LE(expanded.rows, 12);
    EXPECT_LE(expanded.cols, 18);
    rows.insert(expanded.rows);
    int found = 0;
    for (int r = 0; r + 4 <= expanded.rows; ++r) {
      for (int c = 0; c + 6 <= expanded.cols; ++c)
        found += Equal(expanded(cv::Rect(c, r, 6, 4)), image);
    }
    EXPECT_EQ(found, 1);
    cv::Mat fill;
    cv::inRange(expanded, cv::Scalar(250, 251, 252), cv::Scalar(250, 251, 252), fill);
    EXPECT_EQ(cv::countNonZero(fill), expanded.rows * expanded.cols - 24);
  }
  EXPECT_GT(rows.size(), 3u);
}

TEST_F(ImageTransforms, GivesTheSameImageForTheSameGenerator) {
  const auto distort = Parsed<DistortionParameter>(
      "brightness_prob: 0.5 brightness_delta: 32 contrast_prob: 0.5 contrast_lower: 0.5 "
      "contrast_upper: 1.5 hue_prob: 0.5 hue_delta: 18 saturation_prob: 0.5 saturation_lower: 0.5 "
      "saturation_upper: 1.5 random_order_prob: 0.3");
  for (unsigned seed = 0; seed < 20; ++seed) {
    rng_t one(seed), other(seed);
    EXPECT_TRUE(
        Equal(Distorted(distort, Image(4, 4), &one), Distorted(distort, Image(4, 4), &other)));
  }
}

TEST_F(ImageTransforms, AppliesEachKindOfNoise) {
  const cv::Mat image = Image(16, 16), gray = Image(16, 16, 1);
  const auto noisy = [&](const string& param, const cv::Mat& original) {
    return Noisy(Parsed<NoiseParameter>(param), original, &random_);
  };
  EXPECT_TRUE(Equal(noisy("prob: 0 inverse: true", image), image));
  EXPECT_TRUE(Equal(noisy("", image), image));
  const cv::Mat inverse = noisy("inverse: true", image);
  const cv::Mat levels = noisy("posterize: true", image);
  const cv::Mat colorless = noisy("decolorize: true", image);
  ASSERT_EQ(colorless.channels(), 3);
  for (int row = 0; row < 16; ++row) {
    for (int column = 0; column < 16; ++column) {
      const auto pixel = image.at<cv::Vec3b>(row, column);
      for (int c = 0; c < 3; ++c) {
        EXPECT_EQ(inverse.at<cv::Vec3b>(row, column)[c], 255 - pixel[c]);
        EXPECT_EQ(levels.at<cv::Vec3b>(row, column)[c], pixel[c] / 64 * 64 + 32);
        EXPECT_EQ(colorless.at<cv::Vec3b>(row, column)[c], colorless.at<cv::Vec3b>(row, column)[0]);
      }
    }
  }
  EXPECT_TRUE(Equal(noisy("decolorize: true convert_to_hsv: true", gray), gray));
  EXPECT_FALSE(Equal(noisy("convert_to_hsv: true", image), noisy("convert_to_lab: true", image)));
  // A blur softens an edge, an erosion moves it, and a JPEG of high quality changes it little.
  cv::Mat edge(16, 16, CV_8UC1, cv::Scalar(200));
  edge(cv::Rect(0, 0, 8, 16)) = 100;
  const cv::Mat blurred = noisy("gauss_blur: true", edge), eroded = noisy("erode: true", edge),
                fine = noisy("jpeg: 100", edge), coarse = noisy("jpeg: 1", edge);
  EXPECT_GT(blurred.at<uint8_t>(8, 7), 110);
  EXPECT_EQ(blurred.at<uint8_t>(8, 1), 100);
  EXPECT_EQ(cv::countNonZero(eroded == 100), 16 * 9);
  EXPECT_LE(cv::norm(fine, edge, cv::NORM_INF), 3);
  EXPECT_GT(cv::norm(coarse, edge, cv::NORM_INF), 3);
  // Equalization makes two values as different as possible; in tiles the contrast is limited.
  EXPECT_EQ(cv::norm(noisy("hist_eq: true", edge), cv::NORM_INF), 255);
  EXPECT_FALSE(Equal(noisy("clahe: true", edge), noisy("hist_eq: true", edge)));
  EXPECT_EQ(noisy("hist_eq: true clahe: true", image).size(), image.size());
}

TEST_F(ImageTransforms, SaltAndPepperUsesItsFractionAndValues) {
  const cv::Mat image(64, 64, CV_8UC3, cv::Scalar(100, 100, 100));
  const auto share = [&](const string& param, const cv::Scalar& value) {
    const auto noise =
        Parsed<NoiseParameter>("saltpepper: true saltpepper_param { " + param + " }");
    cv::Mat found;
    cv::inRange(Noisy(noise, image, &random_), value, value, found);
    return cv::countNonZero(found) / 4096.;
  };
  EXPECT_NEAR(share("fraction: 0.25 value: [1, 2, 3]", {1, 2, 3}), 0.25, 0.03);
  EXPECT_NEAR(share("fraction: 0.25 value: 9", {9, 9, 9}), 0.25, 0.03);
  EXPECT_NEAR(share("fraction: 0.5", {255, 255, 255}), 0.25, 0.03);
  EXPECT_NEAR(share("fraction: 0.5", {0, 0, 0}), 0.25, 0.03);
  EXPECT_EQ(share("fraction: 0", {100, 100, 100}), 1);
}

TEST_F(ImageTransforms, RandomSizesKeepTheAspectRatio) {
  std::set<int> sides;
  for (int i = 0; i < 60; ++i) {
    const cv::Mat resized = RandomlyResized(5, 8, Image(4, 8), &random_);
    EXPECT_EQ(resized.cols, 2 * resized.rows);
    sides.insert(resized.rows);
  }
  EXPECT_EQ(sides, (std::set<int>{5, 6, 7, 8}));
}

// The transformer with image transformations.

/// Returns the transformed image as a flat list.
vector<float> Transformed(const string& param, const Datum& datum, vector<int>* shape) {
  Caffe::set_random_seed(1701);
  DataTransformer<float> transformer(Parsed<TransformationParameter>(param), TRAIN);
  transformer.InitRand();
  Blob<float> blob(transformer.InferBlobShape(datum));
  transformer.Transform(datum, &blob);
  *shape = blob.shape();
  return vector<float>(blob.cpu_data(), blob.cpu_data() + blob.count());
}

Datum Bytes(int channels, int height, int width) {
  Datum datum;
  datum.set_channels(channels);
  datum.set_height(height);
  datum.set_width(width);
  for (int i = 0; i < channels * height * width; ++i)
    datum.mutable_data()->push_back(static_cast<char>(i + 1));
  return datum;
}

TEST(TransformerOfForks, ResizesBytesBeforeItSubtractsAndScales) {
  vector<int> shape;
  const vector<float> values = Transformed(
      "resize_param { height: 4 width: 4 interp_mode: NEAREST } mean_value: 1 scale: 0.5",
      Bytes(3, 2, 2), &shape);
  ASSERT_EQ(shape, (vector<int>{1, 3, 4, 4}));
  for (int c = 0; c < 3; ++c) {
    for (int h = 0; h < 4; ++h) {
      for (int w = 0; w < 4; ++w)
        EXPECT_EQ(values[(c * 4 + h) * 4 + w], 0.5f * (c * 4 + h / 2 * 2 + w / 2));
    }
  }
}

TEST(TransformerOfForks, CropsARectangle) {
  vector<int> shape;
  const vector<float> values = Transformed("crop_h: 2 crop_w: 3", Bytes(1, 4, 5), &shape);
  ASSERT_EQ(shape, (vector<int>{1, 1, 2, 3}));
  for (int w = 0; w < 3; ++w) EXPECT_EQ(values[3 + w], values[w] + 5);
}

TEST(TransformerOfForks, GivesExpandedImagesOneSize) {
  const string resize = "resize_param { height: 6 width: 5 } ";
  for (const string& param :
       {resize + "expand_param { max_expand_ratio: 4 }",
        string("crop_size: 3 expand_param { max_expand_ratio: 4 }"),
        resize + "crop_h: 2 crop_w: 4 distort_param { brightness_prob: 1 brightness_delta: 9 }"}) {
    vector<int> shape;
    EXPECT_FALSE(Transformed(param, Bytes(3, 5, 5), &shape).empty());
    const bool rectangle = param.find("crop_h") != string::npos;
    const bool square = param.find("crop_size") != string::npos;
    EXPECT_EQ(shape, rectangle ? (vector<int>{1, 3, 2, 4})
                               : (square ? vector<int>{1, 3, 3, 3} : vector<int>{1, 3, 6, 5}));
  }
}

TEST(TransformerOfForks, CropsImagesAfterRandomResizingAndNoise) {
  vector<int> shape;
  const vector<float> values = Transformed(
      "crop_size: 3 img_rand_resize_lower: 4 img_rand_resize_upper: 6 noise_param { inverse: true "
      "}",
      Bytes(3, 2, 2), &shape);
  EXPECT_EQ(shape, (vector<int>{1, 3, 3, 3}));
  for (float value : values) EXPECT_GE(value, 255 - 12);  // bytes are 1 to 12
}

TEST(TransformerOfForksErrors, RefusesWhatMakesNoSense) {
  const std::pair<string, string> wrong[] = {
      {"emit_constraint {}", "emit_constraint is for the boxes of AnnotatedData"},
      {"crop_h: 3", "crop_h and crop_w must be set together"},
      {"crop_h: 3 crop_w: 3 crop_size: 3", "without a crop_size"},
      {"resize_param { height: 3 }",
       "needs height and width of 1 to 65535 pixels; they are 3 and 0"},
      {"resize_param { height: 3 width: 3 prob: 0.5 }", "prob below 1 needs a crop"},
      {"resize_param { height: 3 width: 3 prob: 2 }",
       "resize_param.prob must be from 0 to 1; it is 2"},
      {"expand_param { max_expand_ratio: 2 }",
       "expand_param needs a resize_param that gives images"},
      {"crop_size: 2 expand_param { max_expand_ratio: 0.5 }", "must be from 1 to 100; it is 0.5"},
      {"noise_param { prob: 2 }", "noise_param.prob must be from 0 to 1; it is 2"},
      {"noise_param { jpeg: 101 }", "quality from 0 to 100, or -1; it is 101"},
      {"noise_param { convert_to_hsv: true convert_to_lab: true }", "cannot both be set"},
      {"noise_param { saltpepper_param { fraction: -1 } }", "fraction must be from 0 to 1"},
      {"crop_size: 2 img_rand_resize_lower: 3", "img_rand_resize_upper <= 65535; they are 3 and 0"},
      {"crop_size: 2 img_rand_resize_lower: 4 img_rand_resize_upper: 3", "they are 4 and 3"},
      {"crop_size: 4 img_rand_resize_lower: 3 img_rand_resize_upper: 3",
       "need a crop of at most 3 pixels"},
      {"img_rand_resize_lower: 3 img_rand_resize_upper: 3", "need a crop of at most 3 pixels"},
      {"crop_size: 2 img_rand_resize_lower: 3 img_rand_resize_upper: 3 "
       "resize_param { height: 3 width: 3 }",
       "set either resize_param or img_rand_resize_lower, not both"},
      {"distort_param { hue_prob: -1 }", "distort_param.hue_prob must be from 0 to 1; it is -1"},
      {"distort_param { contrast_lower: 2 contrast_upper: 1 }",
       "0 <= contrast_lower <= contrast_up"},
  };
  for (const auto& [param, message] : wrong) {
    EXPECT_ERROR(DataTransformer<float>(Parsed<TransformationParameter>(param), TRAIN), message);
  }
  vector<int> shape;
  const string resize = "resize_param { height: 3 width: 3 }";
  EXPECT_ERROR(Transformed(resize, Bytes(2, 3, 3), &shape), "bytes with 1 or 3 channels");
  EXPECT_ERROR(Transformed("crop_h: 9 crop_w: 2", Bytes(1, 3, 3), &shape),
               "crop_h is larger than an image of 3 rows");
}

}  // namespace
}  // namespace caffe

#endif  // USE_OPENCV
