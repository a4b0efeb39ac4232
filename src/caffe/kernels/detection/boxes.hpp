#ifndef CAFFE_KERNELS_DETECTION_BOXES_HPP_
#define CAFFE_KERNELS_DETECTION_BOXES_HPP_

// Boxes, for host and device: areas, overlaps, and offsets from prior boxes.

#include <cmath>
#include <cstdint>

#include "caffe/kernels/host_device.hpp"

namespace caffe {
namespace kernels {

/// A box with its sides along the axes, in fractions of the image or in pixels.
struct BoundingBox {
  double xmin = 0;
  double ymin = 0;
  double xmax = 0;
  double ymax = 0;
};

/// 0 where a maximum is below its minimum.
LAYRUB_HOST_DEVICE inline double Area(const BoundingBox& box) {
  const double width = box.xmax - box.xmin, height = box.ymax - box.ymin;
  return width > 0 && height > 0 ? width * height : 0;
}

/// Intersection over union; 0 for boxes without area.
LAYRUB_HOST_DEVICE inline double Overlap(const BoundingBox& a, const BoundingBox& b) {
  const BoundingBox common = {a.xmin > b.xmin ? a.xmin : b.xmin, a.ymin > b.ymin ? a.ymin : b.ymin,
                              a.xmax < b.xmax ? a.xmax : b.xmax, a.ymax < b.ymax ? a.ymax : b.ymax};
  const double intersection = Area(common);
  return intersection > 0 ? intersection / (Area(a) + Area(b) - intersection) : 0;
}

/// What the four offsets of a box mean. Each offset is divided by its variance:
/// - kCorner: the distances of the corners from the prior's,
/// - kCenterSize: the distance of the centre from the prior's, divided by the prior's width and
///   height, and the logarithms of the ratios of widths and of heights,
/// - kCornerSize: the distances of the corners, divided by the prior's width and height.
enum class BoxCode { kCorner, kCenterSize, kCornerSize };

/// A box that others are offset from.
struct Prior {
  BoundingBox box;
  double variance[4];
};

template <typename Dtype>
LAYRUB_HOST_DEVICE BoundingBox BoxAt(const Dtype* corners) {
  return {static_cast<double>(corners[0]), static_cast<double>(corners[1]),
          static_cast<double>(corners[2]), static_cast<double>(corners[3])};
}

/// Returns prior `index` of `count` in the format of the PriorBox layer: the corners of all priors,
/// then the variances of all. The variances are 1 unless `use_variances`.
template <typename Dtype>
LAYRUB_HOST_DEVICE Prior PriorAt(const Dtype* priors, int64_t count, int64_t index,
                                 bool use_variances) {
  Prior prior = {BoxAt(priors + index * 4), {1, 1, 1, 1}};
  for (int k = 0; k < 4 && use_variances; ++k) prior.variance[k] = priors[(count + index) * 4 + k];
  return prior;
}

/// The offsets of `box` from `prior`.
LAYRUB_HOST_DEVICE inline void EncodeBox(BoxCode code, const Prior& prior, const BoundingBox& box,
                                         double (&offsets)[4]) {
  const BoundingBox& p = prior.box;
  const double width = p.xmax - p.xmin, height = p.ymax - p.ymin;
  if (code == BoxCode::kCenterSize) {
    offsets[0] = (box.xmin + box.xmax - p.xmin - p.xmax) / 2 / width;
    offsets[1] = (box.ymin + box.ymax - p.ymin - p.ymax) / 2 / height;
    offsets[2] = std::log((box.xmax - box.xmin) / width);
    offsets[3] = std::log((box.ymax - box.ymin) / height);
  } else {
    const double unit_x = code == BoxCode::kCornerSize ? width : 1;
    const double unit_y = code == BoxCode::kCornerSize ? height : 1;
    offsets[0] = (box.xmin - p.xmin) / unit_x;
    offsets[1] = (box.ymin - p.ymin) / unit_y;
    offsets[2] = (box.xmax - p.xmax) / unit_x;
    offsets[3] = (box.ymax - p.ymax) / unit_y;
  }
  for (int k = 0; k < 4; ++k) offsets[k] /= prior.variance[k];
}

/// The box that has the four `offsets` from `prior`.
template <typename Dtype>
LAYRUB_HOST_DEVICE BoundingBox DecodeBox(BoxCode code, const Prior& prior, const Dtype* offsets) {
  const BoundingBox& p = prior.box;
  const double width = p.xmax - p.xmin, height = p.ymax - p.ymin;
  double moves[4];
  for (int k = 0; k < 4; ++k) moves[k] = static_cast<double>(offsets[k]) * prior.variance[k];
  if (code == BoxCode::kCenterSize) {
    const double x = (p.xmin + p.xmax) / 2 + moves[0] * width;
    const double y = (p.ymin + p.ymax) / 2 + moves[1] * height;
    const double half_w = std::exp(moves[2]) * width / 2, half_h = std::exp(moves[3]) * height / 2;
    return {x - half_w, y - half_h, x + half_w, y + half_h};
  }
  const double unit_x = code == BoxCode::kCornerSize ? width : 1;
  const double unit_y = code == BoxCode::kCornerSize ? height : 1;
  return {p.xmin + moves[0] * unit_x, p.ymin + moves[1] * unit_y, p.xmax + moves[2] * unit_x,
          p.ymax + moves[3] * unit_y};
}

}  // namespace kernels
}  // namespace caffe

#endif  // CAFFE_KERNELS_DETECTION_BOXES_HPP_
