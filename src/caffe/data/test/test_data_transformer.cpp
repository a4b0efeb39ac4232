#include "caffe/data_transformer.hpp"

#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "caffe/test/expect_error.hpp"
#include "caffe/util/io.hpp"
#include "caffe/util/math_functions.hpp"

#ifdef USE_OPENCV
#include <opencv2/core/core.hpp>
#include <opencv2/imgcodecs.hpp>
#endif

namespace caffe {
namespace {

const int kChannels = 3, kHeight = 4, kWidth = 5;

TransformationParameter Param(const string& text) {
  TransformationParameter param;
  CHECK(google::protobuf::TextFormat::ParseFromString(text, &param)) << text;
  return param;
}

// Pixel (c, h, w) has the value 20 c + 5 h + w + first.
Datum ByteDatum(int first = 0) {
  Datum datum;
  datum.set_channels(kChannels);
  datum.set_height(kHeight);
  datum.set_width(kWidth);
  for (int i = 0; i < kChannels * kHeight * kWidth; ++i)
    datum.mutable_data()->push_back(static_cast<char>(i + first));
  return datum;
}

Datum FloatDatum() {
  Datum datum = ByteDatum();
  for (const char byte : datum.data()) datum.add_float_data(static_cast<uint8_t>(byte));
  datum.clear_data();
  return datum;
}

template <typename Dtype>
std::vector<Dtype> Values(const Blob<Dtype>& blob) {
  return std::vector<Dtype>(blob.cpu_data(), blob.cpu_data() + blob.count());
}

template <typename Dtype>
class Transformer : public ::testing::Test {
 protected:
  Transformer() { Caffe::set_random_seed(1701); }

  static std::vector<Dtype> Transformed(const string& param, Phase phase, const Datum& datum) {
    DataTransformer<Dtype> transformer(Param(param), phase);
    transformer.InitRand();
    Blob<Dtype> blob(transformer.InferBlobShape(datum));
    transformer.Transform(datum, &blob);
    return Values(blob);
  }
};

typedef ::testing::Types<float, double> Dtypes;
TYPED_TEST_SUITE(Transformer, Dtypes);

TYPED_TEST(Transformer, CopiesBytesAndFloats) {
  for (const Datum& datum : {ByteDatum(), FloatDatum()}) {
    const std::vector<TypeParam> values = this->Transformed("", TRAIN, datum);
    ASSERT_EQ(values.size(), 60u);
    for (int i = 0; i < 60; ++i) EXPECT_EQ(values[i], i);
  }
}

TYPED_TEST(Transformer, TreatsBytesAsUnsigned) {
  const std::vector<TypeParam> values = this->Transformed("", TEST, ByteDatum(190));
  EXPECT_EQ(values[59], 249);
}

TYPED_TEST(Transformer, SubtractsMeanValuesThenScales) {
  const std::vector<TypeParam> one =
      this->Transformed("scale: 0.5 mean_value: 2", TEST, ByteDatum());
  const std::vector<TypeParam> each =
      this->Transformed("mean_value: 0 mean_value: 20 mean_value: 40", TEST, ByteDatum());
  for (int i = 0; i < 60; ++i) {
    EXPECT_EQ(one[i], (i - 2) * TypeParam(0.5));
    EXPECT_EQ(each[i], i % 20);
  }
}

TYPED_TEST(Transformer, CropsTheMiddleInTheTestPhase) {
  const std::vector<TypeParam> values = this->Transformed("crop_size: 2", TEST, ByteDatum());
  EXPECT_EQ(values, (std::vector<TypeParam>{6, 7, 11, 12, 26, 27, 31, 32, 46, 47, 51, 52}));
}

TYPED_TEST(Transformer, CropsEverywhereInTheTrainPhase) {
  DataTransformer<TypeParam> transformer(Param("crop_size: 2"), TRAIN);
  transformer.InitRand();
  Blob<TypeParam> blob(1, kChannels, 2, 2);
  std::set<TypeParam> corners;
  for (int i = 0; i < 300; ++i) {
    transformer.Transform(ByteDatum(), &blob);
    const TypeParam corner = blob.cpu_data()[0];
    corners.insert(corner);
    EXPECT_EQ(blob.cpu_data()[3], corner + 6);
    EXPECT_EQ(blob.cpu_data()[4], corner + 20);
  }
  EXPECT_EQ(corners.size(), 12u);  // 3 rows x 4 columns
}

TYPED_TEST(Transformer, MirrorsHalfOfTheImages) {
  DataTransformer<TypeParam> transformer(Param("mirror: true"), TEST);
  transformer.InitRand();
  Blob<TypeParam> blob(1, kChannels, kHeight, kWidth);
  int mirrored = 0;
  for (int i = 0; i < 200; ++i) {
    transformer.Transform(ByteDatum(), &blob);
    const bool mirror = blob.cpu_data()[0] == 4;
    mirrored += mirror;
    for (int j = 0; j < 60; ++j) EXPECT_EQ(blob.cpu_data()[j], mirror ? j - j % 5 + 4 - j % 5 : j);
  }
  EXPECT_NEAR(mirrored, 100, 40);
}

// The order is mirror, row, column, from a generator seeded by one draw of the thread's stream.
TYPED_TEST(Transformer, DrawsInCaffesOrder) {
  const std::vector<TypeParam> values =
      this->Transformed("mirror: true crop_size: 2", TRAIN, ByteDatum());
  Caffe::set_random_seed(1701);
  Caffe::set_random_seed(caffe_rng_rand());
  const int mirror = caffe_rng_rand() % 2, row = caffe_rng_rand() % 3,
            column = caffe_rng_rand() % 4;
  EXPECT_EQ(values[0], 5 * row + column + mirror);
}

TYPED_TEST(Transformer, GivesEqualImagesForEqualSeeds) {
  const string param = "mirror: true crop_size: 2";
  const std::vector<TypeParam> first = this->Transformed(param, TRAIN, ByteDatum());
  Caffe::set_random_seed(1701);
  EXPECT_EQ(this->Transformed(param, TRAIN, ByteDatum()), first);
}

TYPED_TEST(Transformer, SubtractsTheMatchingPartOfTheMeanImage) {
  string path;
  MakeTempFilename(&path);
  BlobProto mean;
  mean.set_num(1);
  mean.set_channels(kChannels);
  mean.set_height(kHeight);
  mean.set_width(kWidth);
  for (int i = 0; i < 60; ++i) mean.add_data(i);
  WriteProtoToBinaryFile(mean, path);
  const string param = "mean_file: '" + path + "' crop_size: 3";
  BlobProto of_three_axes;
  *of_three_axes.mutable_data() = mean.data();
  for (const int dim : {kChannels, kHeight, kWidth}) of_three_axes.mutable_shape()->add_dim(dim);
  for (const BlobProto& written : {of_three_axes, mean}) {
    WriteProtoToBinaryFile(written, path);
    for (const Phase phase : {TRAIN, TEST}) {
      EXPECT_EQ(this->Transformed(param, phase, ByteDatum(7)), std::vector<TypeParam>(27, 7));
    }
  }
  Datum smaller = ByteDatum();
  smaller.set_height(2);
  smaller.mutable_data()->resize(30);
  EXPECT_ERROR(this->Transformed("mean_file: '" + path + "'", TEST, smaller),
               "mean image in .* the image is 3 x 2 x 5");
  std::filesystem::remove_all(std::filesystem::path(path).parent_path());
}

TYPED_TEST(Transformer, TransformsAVectorOfImages) {
  DataTransformer<TypeParam> transformer(Param("scale: 2"), TEST);
  const std::vector<Datum> images = {ByteDatum(0), ByteDatum(100)};
  Blob<TypeParam> blob(transformer.InferBlobShape(images));
  EXPECT_EQ(blob.shape(), (std::vector<int>{2, kChannels, kHeight, kWidth}));
  transformer.Transform(images, &blob);
  for (int i = 0; i < 120; ++i) EXPECT_EQ(blob.cpu_data()[i], 2 * (i % 60 + 100 * (i / 60)));
}

TYPED_TEST(Transformer, TransformsEachItemOfABlobWithoutChangingIt) {
  DataTransformer<TypeParam> transformer(Param("mean_value: 1 scale: 2 crop_size: 2"), TEST);
  Blob<TypeParam> input(2, kChannels, kHeight, kWidth), output;
  for (int i = 0; i < input.count(); ++i) input.mutable_cpu_data()[i] = i;
  transformer.Transform(&input, &output);
  ASSERT_EQ(output.shape(), (std::vector<int>{2, kChannels, 2, 2}));
  EXPECT_EQ(output.cpu_data()[0], 2 * (6 - 1));
  EXPECT_EQ(output.cpu_data()[12], 2 * (66 - 1));
  EXPECT_EQ(input.cpu_data()[6], 6);
}

/// A subclass, as Caffe's users write them, that draws the largest numbers.
template <typename Dtype>
class LargestDraws : public DataTransformer<Dtype> {
 public:
  using DataTransformer<Dtype>::DataTransformer;
  void TransformTo(const Datum& datum, Dtype* values) { this->Transform(datum, values); }
  bool Seeded() const { return this->rng_ != nullptr; }
  bool Knows(uint32_t crop, Phase phase, size_t means) const {
    return this->param_.crop_size() == crop && this->phase_ == phase &&
           this->mean_values_.size() == means && this->data_mean_.count() == 0;
  }

 protected:
  int Rand(int n) override { return n - 1; }
};

TYPED_TEST(Transformer, AllowsASubclassToDrawDifferently) {
  LargestDraws<TypeParam> transformer(Param("mirror: true crop_size: 2 mean_value: 1"), TRAIN);
  EXPECT_TRUE(transformer.Knows(2, TRAIN, 1));
  EXPECT_FALSE(transformer.Seeded());
  transformer.InitRand();
  EXPECT_TRUE(transformer.Seeded());
  std::vector<TypeParam> values(12);
  transformer.TransformTo(ByteDatum(), values.data());
  const std::vector<TypeParam> expected = {13, 12, 18, 17, 33, 32, 38, 37, 53, 52, 58, 57};
  EXPECT_EQ(values, expected);
  Blob<TypeParam> input(1, kChannels, kHeight, kWidth), output;
  for (int i = 0; i < input.count(); ++i) input.mutable_cpu_data()[i] = i;
  transformer.Transform(&input, &output);
  EXPECT_EQ(Values(output), expected);
}

TYPED_TEST(Transformer, RejectsSizesThatDoNotFit) {
  EXPECT_ERROR(this->Transformed("crop_size: 5", TEST, ByteDatum()),
               "crop_size is larger than an image of 4 rows");
  EXPECT_ERROR(this->Transformed("mean_value: 1 mean_value: 2", TEST, ByteDatum()),
               "1 mean_value or as many as channels");
  EXPECT_ERROR(this->Transformed("mean_file: 'm' mean_value: 2", TEST, ByteDatum()),
               "at the same time");
  Datum cut = ByteDatum();
  cut.mutable_data()->resize(59);
  EXPECT_ERROR(this->Transformed("", TEST, cut),
               "datum of 3 x 4 x 5 holds another number of values");
  DataTransformer<TypeParam> transformer(Param(""), TEST);
  Blob<TypeParam> wrong(1, kChannels, kHeight, kWidth + 1);
  EXPECT_ERROR(transformer.Transform(ByteDatum(), &wrong), "does not fit a blob of shape 1 3 4 6");
  EXPECT_ERROR(
      DataTransformer<TypeParam>(Param("mirror: true"), TEST).Transform(ByteDatum(), &wrong),
      "fit|InitRand");
}

#ifdef USE_OPENCV

cv::Mat ByteImage() {
  cv::Mat image(kHeight, kWidth, CV_8UC3);
  for (int h = 0; h < kHeight; ++h) {
    for (int w = 0; w < kWidth; ++w) {
      for (int c = 0; c < kChannels; ++c)
        image.at<cv::Vec3b>(h, w)[c] = static_cast<uint8_t>(20 * c + 5 * h + w);
    }
  }
  return image;
}

TYPED_TEST(Transformer, TransformsAnOpenCvImageLikeItsDatum) {
  for (const string param : {"", "crop_size: 2 mirror: true scale: 0.5 mean_value: 3"}) {
    Caffe::set_random_seed(5);
    DataTransformer<TypeParam> transformer(Param(param), TRAIN);
    transformer.InitRand();
    Blob<TypeParam> blob(transformer.InferBlobShape(ByteImage()));
    transformer.Transform(ByteImage(), &blob);
    Caffe::set_random_seed(5);
    EXPECT_EQ(Values(blob), this->Transformed(param, TRAIN, ByteDatum()));
  }
}

TYPED_TEST(Transformer, ReadsAPartOfALargerImage) {
  cv::Mat larger(kHeight + 2, kWidth + 3, CV_8UC3, cv::Scalar(0, 0, 0));
  cv::Mat part = larger(cv::Rect(2, 1, kWidth, kHeight));
  ByteImage().copyTo(part);
  DataTransformer<TypeParam> transformer(Param(""), TEST);
  Blob<TypeParam> blob(transformer.InferBlobShape(part));
  transformer.Transform(part, &blob);
  EXPECT_EQ(Values(blob), this->Transformed("", TEST, ByteDatum()));
}

TYPED_TEST(Transformer, SubtractsTheMeanImageFromAnOpenCvImageAndFromABlob) {
  string path;
  MakeTempFilename(&path);
  BlobProto mean;
  for (const int dim : {1, kChannels, kHeight, kWidth}) mean.mutable_shape()->add_dim(dim);
  for (int i = 0; i < 60; ++i) mean.add_data(i - 5);
  WriteProtoToBinaryFile(mean, path);
  DataTransformer<TypeParam> transformer(Param("mean_file: '" + path + "' crop_size: 3 scale: 2"),
                                         TEST);
  Blob<TypeParam> from_image(1, kChannels, 3, 3), from_blob;
  transformer.Transform(ByteImage(), &from_image);
  EXPECT_EQ(Values(from_image), std::vector<TypeParam>(27, 10));
  Blob<TypeParam> input(1, kChannels, kHeight, kWidth);
  for (int i = 0; i < input.count(); ++i) input.mutable_cpu_data()[i] = i;
  transformer.Transform(&input, &from_blob);
  EXPECT_EQ(Values(from_blob), std::vector<TypeParam>(27, 10));
  std::filesystem::remove_all(std::filesystem::path(path).parent_path());
}

TYPED_TEST(Transformer, TransformsAVectorOfOpenCvImages) {
  DataTransformer<TypeParam> transformer(Param(""), TEST);
  const std::vector<cv::Mat> images = {ByteImage(), ByteImage()};
  Blob<TypeParam> blob(transformer.InferBlobShape(images));
  transformer.Transform(images, &blob);
  for (int i = 0; i < 120; ++i) EXPECT_EQ(blob.cpu_data()[i], i % 60);
}

TYPED_TEST(Transformer, DecodesAnEncodedDatum) {
  std::vector<uchar> bytes;
  ASSERT_TRUE(cv::imencode(".png", ByteImage(), bytes));
  Datum datum;
  datum.set_encoded(true);
  datum.set_data(bytes.data(), bytes.size());
  EXPECT_EQ(this->Transformed("", TEST, datum), this->Transformed("", TEST, ByteDatum()));
  EXPECT_EQ(this->Transformed("force_gray: true", TEST, datum).size(), 20u);
  EXPECT_EQ(this->Transformed("force_color: true", TEST, datum).size(), 60u);
  EXPECT_ERROR(this->Transformed("force_gray: true force_color: true", TEST, datum),
               "cannot set both");
  datum.set_data("garbage");
  EXPECT_ERROR(this->Transformed("", TEST, datum), "cannot be decoded");
}

#endif  // USE_OPENCV

}  // namespace
}  // namespace caffe
