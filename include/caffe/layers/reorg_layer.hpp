#ifndef CAFFE_REORG_LAYER_HPP_
#define CAFFE_REORG_LAYER_HPP_

#include "caffe/layers/axis_order_layer.hpp"

namespace caffe {

inline namespace library_layers {

/// Moves neighbouring positions into channels: N x C x H x W becomes N x C s^2 x H / s x W / s,
/// where s is `stride`. With `reverse` it becomes N x C / s^2 x H s x W s (YOLOv2, Redmon and
/// Farhadi 2017).
///
/// The order is that of darknet, not of space-to-depth. It is defined by two arrays: array 1 has
/// the bottom's sizes, N x C x H x W; array 2 is N x C / s^2 x H s x W s, whatever the top's shape
/// is. With D = C / s^2, value (c, h, w) of array 1 is value (c mod D, h s + (c div D) div s, w s +
/// (c div D) mod s) of array 2. The bottom is read as array 2 and the top as array 1 or, with
/// `reverse`, the other way round. So `reverse` is not the inverse, and C must always be a multiple
/// of s^2. A stride of 1 shares the bottom's memory. Does not run in place.
template <typename Dtype>
class ReorgLayer : public AxisOrderLayer<Dtype> {
 public:
  explicit ReorgLayer(const LayerParameter& param) : AxisOrderLayer<Dtype>(param) {}
  const char* type() const override { return "Reorg"; }

 protected:
  using AxisOrder = typename AxisOrderLayer<Dtype>::AxisOrder;
  AxisOrder OrderOf(const Blob<Dtype>& bottom) const override;
};

}  // namespace library_layers
}  // namespace caffe

#endif  // CAFFE_REORG_LAYER_HPP_
