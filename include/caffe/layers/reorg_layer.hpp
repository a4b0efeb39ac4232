#ifndef CAFFE_REORG_LAYER_HPP_
#define CAFFE_REORG_LAYER_HPP_

#include "caffe/layers/axis_order_layer.hpp"

namespace caffe {

inline namespace library_layers {

/// Neighbours become channels: N x C x H x W to N x C s^2 x H / s x W / s with s = `stride` or,
/// with `reverse`, to N x C / s^2 x H s x W s (YOLOv2, Redmon and Farhadi 2017).
///
/// The order is darknet's, not that of space-to-depth. One side is taken as an N x C x H x W array,
/// with the bottom's sizes, the other as N x C / s^2 x H s x W s, whatever the top's shape is. With
/// D = C / s^2, value (c, h, w) of the first is value (c mod D, h s + (c div D) div s,
/// w s + (c div D) mod s) of the second. The bottom is the second side or, with `reverse`, the
/// first: so `reverse` is not the inverse, and s^2 divides C always. A stride of 1 shares the
/// bottom's memory. Not in place.
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
