#ifdef USE_OPENCV

#include "caffe/data/image_transforms.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <opencv2/imgproc/imgproc.hpp>

#include "caffe/common.hpp"

namespace caffe {
namespace {

constexpr double kMostPixels = 1 << 28;  ///< of an image that is made here

/// Evenly from [from, to).
double Uniform(rng_t* random, double from, double to) {
  return from + (to - from) * static_cast<double>((*random)()) / 4294967296.0;
}

bool Chance(rng_t* random, double chance) {
  return chance > 0 && (chance >= 1 || Uniform(random, 0, 1) < chance);
}

int Index(rng_t* random, int n) { return static_cast<int>((*random)() % n); }

void CheckChance(double chance, const char* name) {
  CHECK(chance >= 0 && chance <= 1) << name << " must be from 0 to 1; it is " << chance;
}

/// One value for each channel.
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

/// Changes hue and saturation, in HSV's planes 0 and 1, of an image with three channels.
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
  if (!Chance(random, param.brightness_prob())) return image;
  cv::Mat changed;
  image.convertTo(changed, -1, 1,
                  Uniform(random, -param.brightness_delta(), param.brightness_delta()));
  return changed;
}

cv::Mat WithContrast(const DistortionParameter& param, const cv::Mat& image, rng_t* random) {
  if (!Chance(random, param.contrast_prob())) return image;
  cv::Mat changed;
  image.convertTo(changed, -1, Uniform(random, param.contrast_lower(), param.contrast_upper()));
  return changed;
}

cv::Mat WithSaturation(const DistortionParameter& param, const cv::Mat& image, rng_t* random) {
  if (image.channels() != 3 || !Chance(random, param.saturation_prob())) return image;
  const double factor = Uniform(random, param.saturation_lower(), param.saturation_upper());
  return ChangedHsvPlane(image, 1, [=](uint8_t saturation) {
    return cv::saturate_cast<uint8_t>(saturation * factor);
  });
}

cv::Mat WithHue(const DistortionParameter& param, const cv::Mat& image, rng_t* random) {
  if (image.channels() != 3 || !Chance(random, param.hue_prob())) return image;
  constexpr int kHues = 180;  // OpenCV's, of 8 bits
  const int delta =
      static_cast<int>(std::lround(Uniform(random, -param.hue_delta(), param.hue_delta())));
  return ChangedHsvPlane(image, 0, [=](uint8_t hue) {
    return static_cast<uint8_t>(((hue + delta) % kHues + kHues) % kHues);
  });
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
  CHECK(param.brightness_delta() >= 0 && param.hue_delta() >= 0)
      << "brightness_delta and hue_delta of distort_param must not be negative";
  CHECK(param.contrast_lower() >= 0 && param.contrast_lower() <= param.contrast_upper())
      << "distort_param needs 0 <= contrast_lower <= contrast_upper";
  CHECK(param.saturation_lower() >= 0 && param.saturation_lower() <= param.saturation_upper())
      << "distort_param needs 0 <= saturation_lower <= saturation_upper";
}

void CheckExpansion(const ExpansionParameter& param) {
  CheckChance(param.prob(), "expand_param.prob");
  CHECK(param.max_expand_ratio() >= 1 && param.max_expand_ratio() <= 100)
      << "expand_param.max_expand_ratio must be from 1 to 100; it is " << param.max_expand_ratio();
}

cv::Size ResizedSize(const ResizeParameter& param, const cv::Size& size) {
  if (param.resize_mode() == ResizeParameter::FIT_SMALL_SIZE) return SizeBeforePadding(param, size);
  return {static_cast<int>(param.width()), static_cast<int>(param.height())};
}

cv::Mat Resized(const ResizeParameter& param, const cv::Mat& image, rng_t* random) {
  if (!Chance(random, param.prob())) return image;
  const int modes = param.interp_mode_size();
  const auto mode = modes == 0   ? ResizeParameter::LINEAR
                    : modes == 1 ? param.interp_mode(0)
                                 : param.interp_mode(Index(random, modes));
  const cv::Size inner = SizeBeforePadding(param, image.size());
  const cv::Size outer = ResizedSize(param, image.size());
  cv::Mat resized;
  cv::resize(image, resized, inner, 0, 0, Interpolation(mode));
  if (inner == outer) return resized;
  const int above = (outer.height - inner.height) / 2, left = (outer.width - inner.width) / 2;
  const std::vector<double> values(param.pad_value().begin(), param.pad_value().end());
  cv::Mat padded;
  cv::copyMakeBorder(resized, padded, above, outer.height - inner.height - above, left,
                     outer.width - inner.width - left, Border(param.pad_mode()),
                     PerChannel(values, image.channels(), "resize_param.pad_value"));
  return padded;
}

cv::Mat Distorted(const DistortionParameter& param, const cv::Mat& image, rng_t* random) {
  cv::Mat changed = WithBrightness(param, image, random);
  const bool contrast_first = Chance(random, 0.5);
  if (contrast_first) changed = WithContrast(param, changed, random);
  changed = WithSaturation(param, changed, random);
  changed = WithHue(param, changed, random);
  if (!contrast_first) changed = WithContrast(param, changed, random);
  if (changed.channels() == 3 && Chance(random, param.random_order_prob())) {
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
                 const std::vector<double>& fill, rng_t* random) {
  if (!Chance(random, param.prob())) return image;
  const double ratio = Uniform(random, 1, param.max_expand_ratio());
  const cv::Size size = Times(image.size(), ratio);
  const int top = Index(random, size.height - image.rows + 1);
  const int left = Index(random, size.width - image.cols + 1);
  cv::Mat expanded(size, image.type(), PerChannel(fill, image.channels(), "mean_value"));
  image.copyTo(expanded(cv::Rect(cv::Point(left, top), image.size())));
  return expanded;
}

}  // namespace caffe

#endif  // USE_OPENCV
