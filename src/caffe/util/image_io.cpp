// The parts of io.hpp that need an image library.
#include "caffe/util/io.hpp"

#ifdef USE_OPENCV
#include <opencv2/core/core.hpp>
#include <opencv2/imgcodecs.hpp>
#include <opencv2/imgproc.hpp>
#endif

#include <algorithm>
#include <climits>
#include <cstdint>
#include <filesystem>
#include <vector>

#include "caffe/util/failure.hpp"

namespace caffe {

#ifdef USE_OPENCV

namespace {

// Whether the file name ends in the encoding; "jpg" and "jpeg" are the same.
bool HasExtension(const string& filename, string encoding) {
  const size_t dot = filename.rfind('.');
  string extension = dot == string::npos ? filename : filename.substr(dot + 1);
  for (string* name : {&extension, &encoding}) {
    std::transform(name->begin(), name->end(), name->begin(), ::tolower);
    if (*name == "jpeg") *name = "jpg";
  }
  return extension == encoding;
}

// Returns the result of `read`, or an empty image if OpenCV throws, for example because the image
// has more pixels than OPENCV_IO_MAX_IMAGE_PIXELS (2^30).
template <typename Read>
cv::Mat OrNone(const Read& read) {
  try {
    return read();
  } catch (const cv::Exception& error) {
    LOG(ERROR) << error.what();
    return cv::Mat();
  }
}

cv::Mat Decode(const Datum& datum, int flags) {
  CHECK(datum.encoded()) << "Datum not encoded";
  const FailureScope scope("an encoded image");  // image libraries may fail in assertions
  const std::vector<char> bytes(datum.data().begin(), datum.data().end());
  const cv::Mat image =
      OrNone([&] { return bytes.empty() ? cv::Mat() : cv::imdecode(bytes, flags); });
  if (image.empty()) LOG(ERROR) << "Could not decode datum";
  return image;
}

// Whether the file is an 8-bit grayscale image.
bool IsGray(const string& filename) {
  const cv::Mat image = OrNone([&] { return cv::imread(filename, cv::IMREAD_UNCHANGED); });
  return image.type() == CV_8UC1 && !image.empty();
}

// Returns false if OpenCV cannot write this encoding.
bool Encode(const cv::Mat& image, const string& encoding, std::vector<uchar>* bytes) {
  const string extension = "." + encoding;
  try {
    return cv::haveImageWriter(extension) && cv::imencode(extension, image, *bytes);
  } catch (const cv::Exception& error) {
    LOG(ERROR) << error.what();
    return false;
  }
}

// Converts `image` to `datum`. Returns false, without a change, if the image is empty (could not be
// decoded).
bool ReplaceByPixels(const cv::Mat& image, Datum* datum) {
  if (!image.empty()) CVMatToDatum(image, datum);
  return !image.empty();
}

}  // namespace

cv::Mat ReadImageToCVMat(const string& filename, const int height, const int width,
                         const bool is_color) {
  const FailureScope scope(filename.c_str());
  std::error_code unknown;  // a pipe or a device might never end
  const cv::Mat original = OrNone([&] {
    if (!std::filesystem::is_regular_file(filename, unknown)) return cv::Mat();
    return cv::imread(filename, is_color ? cv::IMREAD_COLOR : cv::IMREAD_GRAYSCALE);
  });
  if (original.empty()) {
    LOG(ERROR) << (std::filesystem::exists(filename, unknown)
                       ? "Cannot read as an image, for it is none or damaged: "
                       : "Could not open or find file ")
               << filename;
    return original;
  }
  if (height <= 0 || width <= 0) return original;
  const cv::Mat resized = OrNone([&] {
    cv::Mat image;
    cv::resize(original, image, cv::Size(width, height));
    return image;
  });
  if (resized.empty())
    LOG(ERROR) << "Could not resize " << filename << " to " << height << " x " << width;
  return resized;
}

cv::Mat ReadImageToCVMat(const string& filename, const int height, const int width) {
  return ReadImageToCVMat(filename, height, width, true);
}

cv::Mat ReadImageToCVMat(const string& filename, const bool is_color) {
  return ReadImageToCVMat(filename, 0, 0, is_color);
}

cv::Mat ReadImageToCVMat(const string& filename) { return ReadImageToCVMat(filename, 0, 0, true); }

bool ReadImageToDatum(const string& filename, const int label, const int height, const int width,
                      const bool is_color, const std::string& encoding, Datum* datum) {
  const cv::Mat image = ReadImageToCVMat(filename, height, width, is_color);
  if (image.empty()) return false;
  if (encoding.empty()) {
    CVMatToDatum(image, datum);
    datum->set_label(label);
    return true;
  }
  if (height <= 0 && width <= 0 && HasExtension(filename, encoding) &&
      (is_color || IsGray(filename)))
    return ReadFileToDatum(filename, label, datum);
  std::vector<uchar> bytes;
  if (!Encode(image, encoding, &bytes)) {
    LOG(ERROR) << "Could not encode " << filename << " as " << encoding;
    return false;
  }
  datum->set_data(bytes.data(), bytes.size());
  datum->set_label(label);
  datum->set_encoded(true);
  return true;
}

cv::Mat DecodeDatumToCVMatNative(const Datum& datum) { return Decode(datum, cv::IMREAD_UNCHANGED); }

cv::Mat DecodeDatumToCVMat(const Datum& datum, bool is_color) {
  return Decode(datum, is_color ? cv::IMREAD_COLOR : cv::IMREAD_GRAYSCALE);
}

bool DecodeDatumNative(Datum* datum) {
  return datum->encoded() && ReplaceByPixels(DecodeDatumToCVMatNative(*datum), datum);
}

bool DecodeDatum(Datum* datum, bool is_color) {
  return datum->encoded() && ReplaceByPixels(DecodeDatumToCVMat(*datum, is_color), datum);
}

void CVMatToDatum(const cv::Mat& cv_img, Datum* datum) {
  CHECK_EQ(cv_img.depth(), CV_8U) << "Image data type must be unsigned byte";
  const int64_t plane = static_cast<int64_t>(cv_img.rows) * cv_img.cols;
  CHECK_LE(plane * cv_img.channels(), INT_MAX)
      << "an image of " << cv_img.rows << " x " << cv_img.cols << " is larger than a record can be";
  datum->set_channels(cv_img.channels());
  datum->set_height(cv_img.rows);
  datum->set_width(cv_img.cols);
  datum->clear_float_data();
  datum->set_encoded(false);
  string* bytes = datum->mutable_data();
  bytes->resize(static_cast<size_t>(plane * cv_img.channels()));
  for (int c = 0; c < cv_img.channels(); ++c) {
    // A Mat header for the channel's memory in the datum; extractChannel writes into it.
    cv::Mat channel(cv_img.rows, cv_img.cols, CV_8UC1, bytes->data() + c * plane);
    cv::extractChannel(cv_img, channel, c);
  }
}

#else  // USE_OPENCV

namespace {

bool NoImageLibrary() {
  LOG(FATAL) << "Reading and decoding images needs a build with USE_OPENCV.";
  return false;
}

}  // namespace

bool ReadImageToDatum(const string&, const int, const int, const int, const bool,
                      const std::string&, Datum*) {
  return NoImageLibrary();
}

bool DecodeDatumNative(Datum* datum) { return datum->encoded() && NoImageLibrary(); }

bool DecodeDatum(Datum* datum, bool) { return datum->encoded() && NoImageLibrary(); }

#endif  // USE_OPENCV

}  // namespace caffe
