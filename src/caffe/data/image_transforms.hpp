#ifndef CAFFE_DATA_IMAGE_TRANSFORMS_HPP_
#define CAFFE_DATA_IMAGE_TRANSFORMS_HPP_

#ifdef USE_OPENCV

#include <opencv2/core/core.hpp>
#include <vector>

#include "caffe/proto/caffe.pb.h"
#include "caffe/util/rng.hpp"

namespace caffe {

// Changes of whole images of 8-bit pixels, from Liu et al., SSD, 2016, section 3.6 (data
// augmentation). Each draws its random numbers in the order in which they are told of; a chance of
// 0 or 1 draws none. Images have one channel, or three: blue, green, red.

/// Aborts with one sentence where `param` makes no sense.
void CheckResize(const ResizeParameter& param);
void CheckDistortion(const DistortionParameter& param);
void CheckExpansion(const ExpansionParameter& param);
void CheckNoise(const NoiseParameter& param);

/// The size that an image of this size is resized to.
cv::Size ResizedSize(const ResizeParameter& param, const cv::Size& size);
/// By the chance of `prob`, resized in one of the `interp_mode`s (bilinear where there is none).
/// WARP: to width x height. FIT_SMALL_SIZE: as small as it covers them with its own proportions.
/// FIT_LARGE_SIZE_AND_PAD: as large as it fits into them, then padded evenly, by `pad_value` (one
/// for all channels or one each; 0 where there is none), mirrored pixels or those of the edge.
cv::Mat Resized(const ResizeParameter& param, const cv::Mat& image, rng_t* random);
/// Where an image of this size is in the one that it is resized to: the rest is padding.
cv::Rect PlaceInResized(const ResizeParameter& param, const cv::Size& size);

/// Each by its chance: brightness, a number of +- delta added; contrast, a factor; saturation, a
/// factor; hue, a number of +- delta, in steps of two degrees, added. Contrast is changed before
/// the two others or, by a chance of 1/2, which is drawn after brightness, behind them. At last, by
/// the chance of `random_order_prob`, the channels change places. Images of one channel have
/// neither saturation nor hue.
cv::Mat Distorted(const DistortionParameter& param, const cv::Mat& image, rng_t* random);

/// By the chance of `prob`, somewhere in an image of up to `max_expand_ratio` times its height and
/// width, whose other pixels are `fill` (one value for all channels, or one each; 0 where it is
/// empty).
/// `place`, unless null, gets where the image is in it.
cv::Mat Expanded(const ExpansionParameter& param, const cv::Mat& image,
                 const std::vector<double>& fill, rng_t* random, cv::Rect* place = nullptr);

/// By the chance of `prob`, damaged in each of the ways that are on, in this order: gray; blurred
/// (Gauss, 7 x 7 pixels, deviation 1.5); histogram made even, as a whole or (clahe) in 8 x 8 tiles;
/// compressed by JPEG of that quality; eroded by 2 x 2 pixels; four levels for each channel;
/// inverted; each pixel, by the chance of saltpepper_param.fraction, replaced by its values, or,
/// where it has none, by 0 or 255, drawn. At last converted to HSV, or to Lab. What concerns colour
/// leaves images of one channel as they are.
cv::Mat Noisy(const NoiseParameter& param, const cv::Mat& image, rng_t* random);

/// The shorter side gets a length from `lower` to `upper`, each equally likely; the other one
/// follows. Bilinear.
cv::Mat RandomlyResized(int lower, int upper, const cv::Mat& image, rng_t* random);

}  // namespace caffe

#endif  // USE_OPENCV

#endif  // CAFFE_DATA_IMAGE_TRANSFORMS_HPP_
