// What data layers read: records of databases, images in them, mean images.
#include "caffe/data_transformer.hpp"
#include "caffe/util/io.hpp"
#include "fuzz/target.hpp"

#ifdef USE_OPENCV
#include <opencv2/core/core.hpp>
#include <opencv2/imgcodecs.hpp>
#endif

namespace layrub_fuzz {
namespace {

using caffe::Datum;
using caffe::TransformationParameter;

/// Transforms `datum` as a data layer does with a batch of one.
void Transform(const Datum& datum, const TransformationParameter& param) {
  caffe::DataTransformer<float> transformer(param, caffe::TRAIN);
  transformer.InitRand();
  caffe::Blob<float> blob(transformer.InferBlobShape(datum));
  transformer.Transform(datum, &blob);
}

TransformationParameter CropAndMirror() {
  TransformationParameter param;
  param.set_crop_size(2);
  param.set_mirror(true);
  param.set_scale(0.5F);
  for (int i = 0; i < 3; ++i) param.add_mean_value(static_cast<float>(i));
  return param;
}

TransformationParameter InColour(bool colour) {
  TransformationParameter param;
  param.set_force_color(colour);
  param.set_force_gray(!colour);
  return param;
}

/// Tries all transformations, even if some of them refuse the datum.
void TransformInAllWays(const Datum& datum) {
  for (const TransformationParameter& param : {CropAndMirror(), InColour(true), InColour(false)}) {
    try {
      Transform(datum, param);
    } catch (const caffe::Error&) {
    }
  }
  Transform(datum, TransformationParameter());
}

void ReadDatum(const std::string& bytes) {
  Datum datum;
  if (!datum.ParseFromString(bytes)) throw caffe::Error("no datum");
  TransformInAllWays(datum);
}

void TransformImage(const std::string& bytes) {
  Datum datum;
  datum.set_data(bytes);
  datum.set_encoded(true);
  TransformInAllWays(datum);
}

/// OpenCV reads DICOM images with GDCM, which may abort in an assertion.
bool IsDicom(const std::string& bytes) {
  return bytes.size() >= 132 && bytes.compare(128, 4, "DICM") == 0;
}

void ReadImage(const std::string& bytes) {
  if (!IsDicom(bytes)) return TransformImage(bytes);
  Write("image", bytes);
  ReadInChild([] { TransformImage(Contents("image")); });
}

void ReadMean(const std::string& bytes) {
  TransformationParameter param;
  param.set_mean_file(Write("mean.binaryproto", bytes));
  Datum datum;
  datum.set_channels(3);
  datum.set_height(4);
  datum.set_width(4);
  datum.set_data(std::string(48, 'x'));
  Transform(datum, param);
}

std::vector<std::string> DatumSeeds() {
  Datum bytes;
  bytes.set_channels(3);
  bytes.set_height(4);
  bytes.set_width(5);
  bytes.set_data(std::string(60, 'x'));
  bytes.set_label(7);
  Datum reals = bytes;
  reals.clear_data();
  for (int i = 0; i < 60; ++i) reals.add_float_data(static_cast<float>(i));
  return {bytes.SerializeAsString(), reals.SerializeAsString()};
}

std::vector<std::string> MeanSeeds() {
  caffe::Blob<float> mean(1, 3, 4, 4);
  caffe::BlobProto proto;
  mean.ToProto(&proto);
  caffe::BlobProto older = proto;
  older.clear_shape();
  older.set_num(1);
  older.set_channels(3);
  older.set_height(4);
  older.set_width(4);
  return {proto.SerializeAsString(), older.SerializeAsString()};
}

const Registration datum({"datum", &ReadDatum, &DatumSeeds, nullptr, &New<Datum>});
const Registration mean({"mean", &ReadMean, &MeanSeeds, nullptr, &New<caffe::BlobProto>});

#ifdef USE_OPENCV
std::vector<std::string> ImageSeeds() {
  std::vector<std::string> seeds;
  for (const int type : {CV_8UC3, CV_8UC1}) {
    cv::Mat pixels(5, 6, type);
    cv::randu(pixels, 0, 255);
    for (const char* format : {".png", ".jpg", ".bmp", ".tiff"}) {
      std::vector<unsigned char> bytes;
      if (cv::imencode(format, pixels, bytes)) seeds.emplace_back(bytes.begin(), bytes.end());
    }
  }
  return seeds;
}

const Registration image({"image", &ReadImage, &ImageSeeds});
#endif

}  // namespace
}  // namespace layrub_fuzz
