#ifdef USE_OPENCV

#include "caffe/data/image_transforms.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <opencv2/imgcodecs.hpp>
#include <opencv2/imgproc/imgproc.hpp>

#include "caffe/common.hpp"
#include "caffe/data/draws.hpp"

namespace caffe {
namespace {

constexpr double kMostPixels = 1 << 28;  ///< maximum pixels of an image that is created here

void CheckChance(double chance, const char* name) {
  CHECK(chance >= 0 && chance <= 1) << name << " must be from 0 to 1; it is " << chance;
}

/// Returns one value for each channel.
cv::Scalar PerChannel(const std::vector<double>& values, int channels, const char* name) {
  CHECK(values.size() <= 1 || static_cast<int>(values.size()) == channels)
      << name << " must be given once or for each of " << channels << " channels; it is given "
      << values.size() << " times";
  if (values.empty()) return cv::Scalar::all(0);
  if (values.size() == 1) return cv::Scalar::all(values[0]);
  cv::Scalar scalar;
  for (int c = 0; c < channels; ++c) scalar[c] = values[c];
  return scalar;
}

int Interpolation(ResizeParameter::Interp_mode mode) {
  switch (mode) {
    case ResizeParameter::AREA:
      return cv::INTER_AREA;
    case ResizeParameter::NEAREST:
      return cv::INTER_NEAREST;
    case ResizeParameter::CUBIC:
      return cv::INTER_CUBIC;
    case ResizeParameter::LANCZOS4:
      return cv::INTER_LANCZOS4;
    default:
      return cv::INTER_LINEAR;
  }
}

int Border(ResizeParameter::Pad_mode mode) {
  switch (mode) {
    case ResizeParameter::MIRRORED:
      return cv::BORDER_REFLECT101;
    case ResizeParameter::REPEAT_NEAREST:
      return cv::BORDER_REPLICATE;
    default:
      return cv::BORDER_CONSTANT;
  }
}

/// `size` times `factor`, in whole pixels, at least one.
cv::Size Times(const cv::Size& size, double factor) {
  const double width = std::max(1.0, std::round(size.width * factor));
  const double height = std::max(1.0, std::round(size.height * factor));
  CHECK_LE(width * height, kMostPixels)
      << "An image of " << size.width << " x " << size.height << " pixels would become one of "
      << width << " x " << height << ", which is too large";
  return {static_cast<int>(width), static_cast<int>(height)};
}

/// The size to resize to, before padding.
cv::Size SizeBeforePadding(const ResizeParameter& param, const cv::Size& size) {
  const cv::Size target(static_cast<int>(param.width()), static_cast<int>(param.height()));
  const double by_width = static_cast<double>(target.width) / size.width;
  const double by_height = static_cast<double>(target.height) / size.height;
  switch (param.resize_mode()) {
    case ResizeParameter::FIT_SMALL_SIZE:
      return Times(size, std::max(by_width, by_height));
    case ResizeParameter::FIT_LARGE_SIZE_AND_PAD:
      return Times(size, std::min(by_width, by_height));
    default:
      return target;
  }
}

/// Changes plane 0 (hue) or 1 (saturation), in HSV, of an image with three channels.
template <typename Change>
cv::Mat ChangedHsvPlane(const cv::Mat& image, int plane, const Change& change) {
  cv::Mat hsv, changed;
  cv::cvtColor(image, hsv, cv::COLOR_BGR2HSV);
  for (int row = 0; row < hsv.rows; ++row) {
    uint8_t* pixel = hsv.ptr<uint8_t>(row) + plane;
    for (int column = 0; column < hsv.cols; ++column, pixel += 3) *pixel = change(*pixel);
  }
  cv::cvtColor(hsv, changed, cv::COLOR_HSV2BGR);
  return changed;
}

cv::Mat WithBrightness(const DistortionParameter& param, const cv::Mat& image, rng_t* random) {
  if (!DrawBool(random, param.brightness_prob())) return image;
  cv::Mat changed;
  image.convertTo(changed, -1, 1,
                  DrawUniform(random, -param.brightness_delta(), param.brightness_delta()));
  return changed;
}

cv::Mat WithContrast(const DistortionParameter& param, const cv::Mat& image, rng_t* random) {
  if (!DrawBool(random, param.contrast_prob())) return image;
  cv::Mat changed;
  image.convertTo(changed, -1, DrawUniform(random, param.contrast_lower(), param.contrast_upper()));
  return changed;
}

cv::Mat WithSaturation(const DistortionParameter& param, const cv::Mat& image, rng_t* random) {
  if (image.channels() != 3 || !DrawBool(random, param.saturation_prob())) return image;
  const double factor = DrawUniform(random, param.saturation_lower(), param.saturation_upper());
  return ChangedHsvPlane(image, 1, [=](uint8_t saturation) {
    return cv::saturate_cast<uint8_t>(saturation * factor);
  });
}

cv::Mat WithHue(const DistortionParameter& param, const cv::Mat& image, rng_t* random) {
  if (image.channels() != 3 || !DrawBool(random, param.hue_prob())) return image;
  constexpr int kHues = 180;  // of OpenCV's 8-bit hue
  const double drawn = DrawUniform(random, -param.hue_delta(), param.hue_delta());
  const int delta = static_cast<int>(std::lround(std::fmod(drawn, kHues)));
  return ChangedHsvPlane(image, 0, [=](uint8_t hue) {
    return static_cast<uint8_t>(((hue + delta) % kHues + kHues) % kHues);
  });
}

/// Equalizes the histogram of brightness; `tiles`: in each of 8 x 8 parts, with limited contrast.
cv::Mat Equalized(const cv::Mat& image, bool tiles) {
  const auto equalize = [&](const cv::Mat& plane) {
    cv::Mat even;
    if (tiles) {
      cv::createCLAHE(4)->apply(plane, even);
    } else {
      cv::equalizeHist(plane, even);
    }
    return even;
  };
  if (image.channels() != 3) return equalize(image);
  cv::Mat luminance, changed;
  cv::cvtColor(image, luminance, cv::COLOR_BGR2YCrCb);
  std::vector<cv::Mat> planes;
  cv::split(luminance, planes);
  planes[0] = equalize(planes[0]);
  cv::merge(planes, luminance);
  cv::cvtColor(luminance, changed, cv::COLOR_YCrCb2BGR);
  return changed;
}

cv::Mat Compressed(const cv::Mat& image, float quality) {
  std::vector<uint8_t> bytes;
  cv::imencode(".jpg", image, bytes,
               {cv::IMWRITE_JPEG_QUALITY, static_cast<int>(std::lround(quality))});
  return cv::imdecode(bytes, image.channels() == 3 ? cv::IMREAD_COLOR : cv::IMREAD_GRAYSCALE);
}

cv::Mat InFourLevels(const cv::Mat& image) {
  cv::Mat levels(1, 256, CV_8U), changed;
  for (int i = 0; i < 256; ++i) levels.at<uint8_t>(i) = static_cast<uint8_t>(i / 64 * 64 + 32);
  cv::LUT(image, levels, changed);
  return changed;
}

cv::Mat WithSaltAndPepper(const SaltPepperParameter& param, const cv::Mat& image, rng_t* random) {
  const std::vector<double> values(param.value().begin(), param.value().end());
  const cv::Scalar given = PerChannel(values, image.channels(), "saltpepper_param.value");
  cv::Mat changed = image.clone();
  const int channels = image.channels();
  for (int row = 0; row < image.rows; ++row) {
    uint8_t* pixel = changed.ptr<uint8_t>(row);
    for (int column = 0; column < image.cols; ++column, pixel += channels) {
      if (!DrawBool(random, param.fraction())) continue;
      const double drawn = values.empty() ? 255 * DrawIndex(random, 2) : 0;
      for (int c = 0; c < channels; ++c)
        pixel[c] = cv::saturate_cast<uint8_t>(values.empty() ? drawn : given[c]);
    }
  }
  return changed;
}

/// Converts the image to another colour space, in OpenCV's 8-bit format.
cv::Mat Converted(const cv::Mat& image, int code) {
  cv::Mat changed;
  cv::cvtColor(image, changed, code);
  return changed;
}

}  // namespace

void CheckResize(const ResizeParameter& param) {
  CheckChance(param.prob(), "resize_param.prob");
  CHECK(param.height() > 0 && param.width() > 0 && param.height() <= 65535 &&
        param.width() <= 65535)
      << "resize_param needs height and width of 1 to 65535 pixels; they are " << param.height()
      << " and " << param.width();
}

void CheckDistortion(const DistortionParameter& param) {
  CheckChance(param.brightness_prob(), "distort_param.brightness_prob");
  CheckChance(param.contrast_prob(), "distort_param.contrast_prob");
  CheckChance(param.hue_prob(), "distort_param.hue_prob");
  CheckChance(param.saturation_prob(), "distort_param.saturation_prob");
  CheckChance(param.random_order_prob(), "distort_param.random_order_prob");
  const auto ordered = [](float lower, float upper) {
    return lower >= 0 && lower <= upper && std::isfinite(upper);
  };
  CHECK(ordered(0, param.brightness_delta()) && ordered(0, param.hue_delta()))
      << "brightness_delta and hue_delta of distort_param must be numbers from 0 on";
  CHECK(ordered(param.contrast_lower(), param.contrast_upper()))
      << "distort_param needs numbers with 0 <= contrast_lower <= contrast_upper";
  CHECK(ordered(param.saturation_lower(), param.saturation_upper()))
      << "distort_param needs numbers with 0 <= saturation_lower <= saturation_upper";
}

void CheckExpansion(const ExpansionParameter& param) {
  CheckChance(param.prob(), "expand_param.prob");
  CHECK(param.max_expand_ratio() >= 1 && param.max_expand_ratio() <= 100)
      << "expand_param.max_expand_ratio must be from 1 to 100; it is " << param.max_expand_ratio();
}

void CheckNoise(const NoiseParameter& param) {
  CheckChance(param.prob(), "noise_param.prob");
  CheckChance(param.saltpepper_param().fraction(), "noise_param.saltpepper_param.fraction");
  CHECK(!param.has_jpeg() || param.jpeg() == -1 || (param.jpeg() >= 0 && param.jpeg() <= 100))
      << "noise_param.jpeg is a quality from 0 to 100, or -1; it is " << param.jpeg();
  CHECK(!param.convert_to_hsv() || !param.convert_to_lab())
      << "noise_param: convert_to_hsv and convert_to_lab cannot both be set";
}

cv::Size ResizedSize(const ResizeParameter& param, const cv::Size& size) {
  if (param.resize_mode() == ResizeParameter::FIT_SMALL_SIZE) return SizeBeforePadding(param, size);
  return {static_cast<int>(param.width()), static_cast<int>(param.height())};
}

cv::Rect PlaceInResized(const ResizeParameter& param, const cv::Size& size) {
  const cv::Size inner = SizeBeforePadding(param, size), outer = ResizedSize(param, size);
  return {cv::Point((outer.width - inner.width) / 2, (outer.height - inner.height) / 2), inner};
}

cv::Mat Resized(const ResizeParameter& param, const cv::Mat& image, rng_t* random) {
  if (!DrawBool(random, param.prob())) return image;
  const int modes = param.interp_mode_size();
  const auto mode = modes == 0   ? ResizeParameter::LINEAR
                    : modes == 1 ? param.interp_mode(0)
                                 : param.interp_mode(DrawIndex(random, modes));
  const cv::Rect place = PlaceInResized(param, image.size());
  const cv::Size outer = ResizedSize(param, image.size());
  cv::Mat resized;
  cv::resize(image, resized, place.size(), 0, 0, Interpolation(mode));
  if (place.size() == outer) return resized;
  const std::vector<double> values(param.pad_value().begin(), param.pad_value().end());
  cv::Mat padded;
  cv::copyMakeBorder(resized, padded, place.y, outer.height - place.br().y, place.x,
                     outer.width - place.br().x, Border(param.pad_mode()),
                     PerChannel(values, image.channels(), "resize_param.pad_value"));
  return padded;
}

cv::Mat Distorted(const DistortionParameter& param, const cv::Mat& image, rng_t* random) {
  cv::Mat changed = WithBrightness(param, image, random);
  const bool contrast_first = DrawBool(random, 0.5);
  if (contrast_first) changed = WithContrast(param, changed, random);
  changed = WithSaturation(param, changed, random);
  changed = WithHue(param, changed, random);
  if (!contrast_first) changed = WithContrast(param, changed, random);
  if (changed.channels() == 3 && DrawBool(random, param.random_order_prob())) {
    std::vector<cv::Mat> channels;
    cv::split(changed, channels);
    shuffle(channels.begin(), channels.end(), random);
    cv::Mat merged;
    cv::merge(channels, merged);
    return merged;
  }
  return changed;
}

cv::Mat Expanded(const ExpansionParameter& param, const cv::Mat& image,
                 const std::vector<double>& fill, rng_t* random, cv::Rect* place) {
  if (place != nullptr) *place = cv::Rect(cv::Point(), image.size());
  if (!DrawBool(random, param.prob())) return image;
  const double ratio = DrawUniform(random, 1, param.max_expand_ratio());
  const cv::Size size = Times(image.size(), ratio);
  const int top = DrawIndex(random, size.height - image.rows + 1);
  const int left = DrawIndex(random, size.width - image.cols + 1);
  cv::Mat expanded(size, image.type(), PerChannel(fill, image.channels(), "mean_value"));
  const cv::Rect inside(cv::Point(left, top), image.size());
  image.copyTo(expanded(inside));
  if (place != nullptr) *place = inside;
  return expanded;
}

cv::Mat Noisy(const NoiseParameter& param, const cv::Mat& image, rng_t* random) {
  if (!DrawBool(random, param.prob())) return image;
  const bool color = image.channels() == 3;
  cv::Mat changed = image;
  if (param.decolorize() && color) {
    changed = Converted(Converted(changed, cv::COLOR_BGR2GRAY), cv::COLOR_GRAY2BGR);
  }
  if (param.gauss_blur()) {
    cv::Mat blurred;
    cv::GaussianBlur(changed, blurred, cv::Size(7, 7), 1.5);
    changed = blurred;
  }
  if (param.hist_eq()) changed = Equalized(changed, false);
  if (param.clahe()) changed = Equalized(changed, true);
  if (param.jpeg() >= 0) changed = Compressed(changed, param.jpeg());
  if (param.erode()) {
    cv::Mat eroded;
    cv::erode(changed, eroded, cv::getStructuringElement(cv::MORPH_ELLIPSE, cv::Size(2, 2)));
    changed = eroded;
  }
  if (param.posterize()) changed = InFourLevels(changed);
  if (param.inverse()) {
    cv::Mat inverse;
    cv::bitwise_not(changed, inverse);
    changed = inverse;
  }
  if (param.saltpepper()) changed = WithSaltAndPepper(param.saltpepper_param(), changed, random);
  if (param.convert_to_hsv() && color) changed = Converted(changed, cv::COLOR_BGR2HSV);
  if (param.convert_to_lab() && color) changed = Converted(changed, cv::COLOR_BGR2Lab);
  return changed;
}

cv::Mat RandomlyResized(int lower, int upper, const cv::Mat& image, rng_t* random) {
  const int side = lower + DrawIndex(random, upper - lower + 1);
  const int shorter = std::min(image.rows, image.cols);
  cv::Mat resized;
  cv::resize(image, resized, Times(image.size(), static_cast<double>(side) / shorter));
  return resized;
}

}  // namespace caffe

#endif  // USE_OPENCV
