#ifndef CAFFE_SHUFFLE_CHANNEL_LAYER_HPP_
#define CAFFE_SHUFFLE_CHANNEL_LAYER_HPP_

#include "caffe/layers/axis_order_layer.hpp"

namespace caffe {

inline namespace library_layers {

/// Interleaves the channels of `group` groups (ShuffleNet, Zhang et al. 2018): channel g * (C /
/// group) + i of N x C x ... values goes to channel i * group + g. C must be a multiple of `group`;
/// a single group shares the bottom's memory. Does not run in place.
template <typename Dtype>
class ShuffleChannelLayer : public AxisOrderLayer<Dtype> {
 public:
  explicit ShuffleChannelLayer(const LayerParameter& param) : AxisOrderLayer<Dtype>(param) {}
  const char* type() const override { return "ShuffleChannel"; }

 protected:
  using AxisOrder = typename AxisOrderLayer<Dtype>::AxisOrder;
  AxisOrder OrderOf(const Blob<Dtype>& bottom) const override;
};

}  // namespace library_layers
}  // namespace caffe

#endif  // CAFFE_SHUFFLE_CHANNEL_LAYER_HPP_
