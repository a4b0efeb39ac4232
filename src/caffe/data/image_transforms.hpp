#ifndef CAFFE_DATA_IMAGE_TRANSFORMS_HPP_
#define CAFFE_DATA_IMAGE_TRANSFORMS_HPP_

#ifdef USE_OPENCV

#include <opencv2/core/core.hpp>
#include <vector>

#include "caffe/proto/caffe.pb.h"
#include "caffe/util/rng.hpp"

namespace caffe {

// Transformations of images with 8-bit pixels, from Liu et al., SSD, 2016, section 3.6 (data
// augmentation). Each draws its random numbers in the order of its description; a probability of 0
// or 1 draws none. Images have one channel, or three: blue, green, red.

/// Aborts if `param` is invalid.
void CheckResize(const ResizeParameter& param);
void CheckDistortion(const DistortionParameter& param);
void CheckExpansion(const ExpansionParameter& param);
void CheckNoise(const NoiseParameter& param);

/// Returns the size to which an image of size `size` is resized.
cv::Size ResizedSize(const ResizeParameter& param, const cv::Size& size);
/// With probability `prob`, resizes the image with one of the `interp_mode`s (bilinear if there is
/// none). WARP: to width x height. FIT_SMALL_SIZE: to the smallest size that covers width x height,
/// keeping the aspect ratio. FIT_LARGE_SIZE_AND_PAD: to the largest size that fits in width x
/// height, keeping the aspect ratio, then padded evenly with `pad_value` (one for all channels or
/// one each; 0 if there is none), mirrored pixels or edge pixels.
cv::Mat Resized(const ResizeParameter& param, const cv::Mat& image, rng_t* random);
/// Returns the rectangle of an image of size `size` in its resized image; the rest is padding.
cv::Rect PlaceInResized(const ResizeParameter& param, const cv::Size& size);

/// Changes, each with its probability: brightness, by adding a number within +- delta; contrast, by
/// a factor; saturation, by a factor; hue, by adding a number within +- delta, in steps of two
/// degrees. Contrast is changed before saturation and hue or, with a probability of 1/2 that is
/// drawn after brightness, after them. Finally, with probability `random_order_prob`, permutes the
/// channels. Images with one channel have neither saturation nor hue.
cv::Mat Distorted(const DistortionParameter& param, const cv::Mat& image, rng_t* random);

/// With probability `prob`, places the image at a random position in one of up to
/// `max_expand_ratio` times its height and width. The other pixels are `fill` (one value for all
/// channels, or one each; 0 if it is empty). `place`, unless null, receives the position of the
/// image in the result.
cv::Mat Expanded(const ExpansionParameter& param, const cv::Mat& image,
                 const std::vector<double>& fill, rng_t* random, cv::Rect* place = nullptr);

/// With probability `prob`, damages the image in all enabled ways, in this order: converts it to
/// gray; blurs it (Gauss, 7 x 7 pixels, deviation 1.5); equalizes the histogram, as a whole or
/// (clahe) in 8 x 8 tiles; compresses it by JPEG with the given quality; erodes it by 2 x 2 pixels;
/// reduces each channel to four levels; inverts it; replaces each pixel, with probability
/// saltpepper_param.fraction, by the parameter's values or, if it has none, by 0 or 255, drawn.
/// Finally converts it to HSV or Lab. Colour operations leave images with one channel unchanged.
cv::Mat Noisy(const NoiseParameter& param, const cv::Mat& image, rng_t* random);

/// Resizes the shorter side to a length from `lower` to `upper`, each equally likely, and keeps the
/// aspect ratio. Bilinear.
cv::Mat RandomlyResized(int lower, int upper, const cv::Mat& image, rng_t* random);

}  // namespace caffe

#endif  // USE_OPENCV

#endif  // CAFFE_DATA_IMAGE_TRANSFORMS_HPP_
