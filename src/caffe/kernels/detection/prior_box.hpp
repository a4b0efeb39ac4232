#ifndef CAFFE_KERNELS_DETECTION_PRIOR_BOX_HPP_
#define CAFFE_KERNELS_DETECTION_PRIOR_BOX_HPP_

#include <cstdint>

#include "caffe/device_context.hpp"

namespace caffe {
namespace kernels {

/// The positions of a map of height x width: (h, w) is at ((w + offset) * step_w,
/// (h + offset) * step_h) in an image of image_w x image_h. There are `boxes` around each.
struct PriorMap {
  int64_t height = 0;
  int64_t width = 0;
  int64_t boxes = 0;
  double offset = 0;
  double step_h = 0;
  double step_w = 0;
  double image_h = 0;
  double image_w = 0;
  bool clip = false;
  constexpr int64_t Positions() const { return height * width; }
};

/// Box `index` of all positions, box_w x box_h pixels: xmin, ymin, xmax, ymax in fractions of the
/// image, clipped to [0, 1] if map.clip. `to`: Positions() x boxes x 4 values.
template <typename Dtype>
void PriorBoxes(const DeviceContext& context, const PriorMap& map, int64_t index, double box_w,
                double box_h, Dtype* to);

/// Writes the four variances of all boxes. `to` has as many values as for PriorBoxes.
template <typename Dtype>
void PriorVariances(const DeviceContext& context, const PriorMap& map, const Dtype (&variances)[4],
                    Dtype* to);

}  // namespace kernels
}  // namespace caffe

#endif  // CAFFE_KERNELS_DETECTION_PRIOR_BOX_HPP_
